# The worker of docker-compose.yml. The client is in it as well: paths given to `--docs` are the worker's.

FROM python:3.11.14-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /app
# The dependencies change less often than the code, so they are a layer of their own.
COPY pyproject.toml ./
# With the extra for traces, which are sent only if an endpoint is configured.
RUN uv sync --no-dev --extra otel --no-cache --compile-bytecode

FROM python:3.11.14-slim-bookworm
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
