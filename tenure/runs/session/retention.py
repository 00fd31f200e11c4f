"""Keep finished runs of the local server as long as the settings say; the server's own default is one day."""

from datetime import timedelta

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest

from tenure.settings.home import StackSettings
from tenure.temporal import connection


async def raise_retention(settings: StackSettings) -> None:
    """Raise the retention of the local server's namespace to the setting; a longer one stays.

    Raises:
        ServerUnreachable: the server does not answer.
        RPCError: the server refuses the change.
    """
    client = await connection.connect(settings)
    service, retention = client.workflow_service, timedelta(days=settings.retention_days)
    described = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    if described.config.workflow_execution_retention_ttl.ToTimedelta() >= retention:
        return
    request = UpdateNamespaceRequest(namespace=client.namespace)
    request.config.workflow_execution_retention_ttl.FromTimedelta(retention)
    await service.update_namespace(request)
