# The worker of docker-compose.yml. The client is in it as well: paths given to `--docs` are the worker's.

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d AS build
# The wheels for Linux on x86-64 and ARM.
RUN echo "uv==0.13.8 \
    --hash=sha256:e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984 \
    --hash=sha256:0b3e8b1a4f5e405e31e2ff33de8af4744831e9f7338539671efbd8c3c94e791d" > uv.txt \
    && pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes --requirement uv.txt
WORKDIR /app
# The dependencies change less often than the code, so they are a layer of their own.
COPY pyproject.toml ./
COPY deploy/constraints.txt deploy/constraints.txt
# With the extra for traces, which are sent only if an endpoint is configured. The constraints contain the hashes.
RUN uv venv --no-cache .venv \
    && uv pip install --no-cache --compile-bytecode --require-hashes --constraints deploy/constraints.txt \
        --requirements pyproject.toml --extra otel --group weights

FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d
# The volume takes the owner of the folder it is mounted on.
RUN useradd --uid 10001 --no-create-home tenure \
    && install --directory --owner=tenure --group=tenure /var/lib/tenure
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY pyproject.toml worker.py client.py ./
COPY tenure tenure
COPY workflows workflows
COPY activities activities
COPY docs docs
COPY deploy/health.py deploy/health.py
# The user of the image cannot write here, and compiling the code at each start would take a second.
RUN python -m compileall -q tenure workflows activities
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TENURE_HOME=/var/lib/tenure \
    TENURE_HEALTH_PORT=8235
USER tenure
VOLUME /var/lib/tenure
HEALTHCHECK --interval=10s --timeout=5s --retries=2 --start-period=60s CMD ["python", "deploy/health.py"]
# The supervisor ends a frozen worker, so that the container is restarted.
ENTRYPOINT ["python", "-m", "tenure.temporal.health.supervisor", "python", "worker.py"]
