"""What a person is told when AWS says no."""

from __future__ import annotations

import pytest
from botocore import exceptions

from mnp.commands.aws_errors import explain
from mnp.commands.errors import ExitCode


def answer(code: str) -> exceptions.ClientError:
    return exceptions.ClientError({"Error": {"Code": code, "Message": "because"}}, "SubmitJob")


@pytest.mark.parametrize(
    ("error", "said", "exit_code"),
    [
        (answer("ExpiredTokenException"), "have expired: because", ExitCode.FAILED),
        (answer("UnrecognizedClientException"), "does not accept your credentials", ExitCode.FAILED),
        (answer("AccessDeniedException"), "AWS denied SubmitJob: because", ExitCode.FAILED),
        (answer("ClientException"), "AWS refused SubmitJob: ClientException: because", ExitCode.FAILED),
        (exceptions.NoCredentialsError(), "no AWS credentials", ExitCode.FAILED),
        (exceptions.ProfileNotFound(profile="x"), "no such AWS profile", ExitCode.USAGE),
        (exceptions.NoRegionError(), "no usable AWS region", ExitCode.USAGE),
        (exceptions.InvalidRegionError(region_name="x y"), "no usable AWS region", ExitCode.USAGE),
        (exceptions.ReadTimeoutError(endpoint_url="http://x"), "AWS cannot be reached", ExitCode.FAILED),
        (exceptions.ConfigParseError(path="/x"), "configuration cannot be read", ExitCode.USAGE),
    ],
)
def test_errors_from_outside_have_a_message_and_a_code(error: Exception, said: str, exit_code: ExitCode) -> None:
    """Each kind of refusal says what it is and ends with its documented code."""
    explained = explain(error)
    assert explained is not None
    assert said in str(explained)
    assert explained.exit_code is exit_code


@pytest.mark.parametrize("error", [KeyError("x"), exceptions.ParamValidationError(report="x")])
def test_bugs_of_ours_are_not_explained_away(error: Exception) -> None:
    """A bug keeps its traceback: nothing is made up for it."""
    assert explain(error) is None
