"""
Where MiniStack's idea of a permission is not that of AWS. It is put right here, and not by wider roles in the deployed stack: what
the tests run with are the permissions that the construct gives, and no others.
"""

import json
import re

from ministack import app
from ministack.core import iam_actions, iam_evaluator
from ministack.services import secretsmanager
from ministack.services.cloudformation import provisioners

# A batch needs the permission for one: there is no action sqs:SendMessageBatch.
_action_of = iam_actions.extract_iam_action


def _extract_iam_action(*request, **named):
    action = _action_of(*request, **named)
    return re.sub(r"^(sqs:\w+)Batch$", r"\1", action) if action else action


iam_actions.extract_iam_action = _extract_iam_action

# A schedule is named after its group as well, and a list with one parameter in it names that one.
_resource_of = iam_actions.extract_resource_arn


def _extract_resource_arn(service, method, path, headers, body, query_params, region, account_id):
    arn = _resource_of(service, method, path, headers, body, query_params, region, account_id)
    if service == "scheduler" and ":schedule/default/" in arn:
        group = _field(body, "GroupName") or (query_params.get("groupName") or [None])[0]
        return arn.replace(":schedule/default/", f":schedule/{group}/") if group else arn
    if service == "ssm" and arn == "*" and len(names := _field(body, "Names") or []) == 1:
        return f"arn:aws:ssm:{region}:{account_id}:parameter/{names[0].lstrip('/')}"
    return arn


def _field(body, name):
    try:
        return json.loads(body).get(name)
    except (ValueError, AttributeError):
        return None


iam_actions.extract_resource_arn = _extract_resource_arn

# Policies that refuse who comes without TLS stay in place. There is none here, so everybody is taken to have it.
_pin_origin = iam_evaluator.pin_request_origin
app.pin_request_origin = lambda source_ip, _secure: _pin_origin(source_ip, True)

# A reference to a secret is its ARN.
_secrets = provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"]
_create, _update, _delete = _secrets["create"], _secrets["update"], _secrets["delete"]


def _named(arn):
    return next((name for name, secret in secretsmanager._secrets.items() if secret["ARN"] == arn), arn)


def _create_secret(*args):
    _, attributes = _create(*args)
    return attributes["Arn"], attributes


def _update_secret(physical_id, *args, **named):
    _, attributes = _update(_named(physical_id), *args, **named)
    return attributes["Arn"], attributes


_secrets.update(create=_create_secret, update=_update_secret, delete=lambda physical_id, props: _delete(_named(physical_id), props))
