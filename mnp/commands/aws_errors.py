"""What AWS's and botocore's errors mean for a person, and what to do about them."""

from __future__ import annotations

from botocore import exceptions as botocore_errors

from mnp.commands.errors import CommandError, UsageError

_SIGN_IN = "Sign in (`aws sso login`, or `aws configure`), or set AWS_PROFILE; `aws sts get-caller-identity` must work."

UNREACHABLE = (botocore_errors.ConnectionError, botocore_errors.HTTPClientError)

# Kind of error, whose mistake it is, what it means, what to do: the first kind that fits counts.
_EXPLANATIONS: list[tuple[tuple[type[Exception], ...], type[CommandError], str, str]] = [
    (
        (
            botocore_errors.NoCredentialsError,
            botocore_errors.PartialCredentialsError,
            botocore_errors.CredentialRetrievalError,
            botocore_errors.TokenRetrievalError,
            botocore_errors.SSOError,
        ),
        CommandError,
        "no AWS credentials",
        _SIGN_IN,
    ),
    (
        (botocore_errors.ProfileNotFound,),
        UsageError,
        "no such AWS profile",
        "Set AWS_PROFILE to one that `aws configure list-profiles` shows.",
    ),
    (
        (botocore_errors.NoRegionError, botocore_errors.InvalidRegionError),
        UsageError,
        "no usable AWS region",
        "Give --region, such as us-east-1, or set AWS_REGION.",
    ),
    (
        (botocore_errors.ConfigParseError, botocore_errors.ConfigNotFound),
        UsageError,
        "the AWS configuration cannot be read",
        "Correct ~/.aws/config, or the file that AWS_CONFIG_FILE names.",
    ),
    (
        UNREACHABLE,
        CommandError,
        "AWS cannot be reached",
        "Check the network, the region and, if it is set, AWS_ENDPOINT_URL (`mnp local status`).",
    ),
]
_EXPIRED_CODES = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
_UNKNOWN_KEY_CODES = {
    "AuthFailure",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_DENIED_CODES = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"}


def explain(error: BaseException) -> CommandError | None:
    """Return the message, fix and exit code for an error from outside, or None for a bug of ours."""
    if isinstance(error, botocore_errors.ClientError):
        return _explain_answer(error)
    for kinds, raised, meaning, fix in _EXPLANATIONS:
        if isinstance(error, kinds):
            return raised(f"{meaning}: {error}", fix=fix)
    return None


def _explain_answer(error: botocore_errors.ClientError) -> CommandError:
    code = error.response.get("Error", {}).get("Code", "unknown error")
    text = error.response.get("Error", {}).get("Message", "no message")
    if code in _EXPIRED_CODES:
        return CommandError(f"your AWS credentials have expired: {text}", fix=_SIGN_IN)
    if code in _UNKNOWN_KEY_CODES:
        return CommandError(f"AWS does not accept your credentials: {text}", fix=_SIGN_IN)
    if code in _DENIED_CODES:
        return CommandError(
            f"AWS denied {error.operation_name}: {text}",
            fix="Have the cluster's submitter policy attached to you (`submitter_policy_arn` in `mnp outputs`).",
        )
    return CommandError(f"AWS refused {error.operation_name}: {code}: {text}")
