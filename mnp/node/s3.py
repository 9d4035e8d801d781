"""Objects of Amazon S3 with the job role's credentials, in one file of the standard library.

The job definition carries this file as text (`python3 -c SOURCE s3://BUCKET/APP.zip ARGS...`), so it imports
nothing of ours and stays small. Run so, it fetches the zip application and becomes it.

Signature Version 4: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
Container credentials: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
(both checked 2026-11-21)
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import random
import re
import sys
import tempfile
import time
import urllib.error
import urllib.request
from urllib.parse import quote, urlsplit

ATTEMPTS = 6
TIMEOUT = 60  # seconds of silence on a connection
PAUSE = 0.4  # seconds after the first failure, then twice as long each time, 8 at most
RETRIED = (408, 429, 500, 502, 503, 504)


class S3Error(Exception):
    """What went wrong with which object, in one line."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """A signature holds for one host: a redirect is an error."""


def credentials() -> tuple[str, str, str]:
    """Access key, secret key and session token ("" for none): the environment's, else the container's."""
    env = os.environ
    if env.get("AWS_ACCESS_KEY_ID") and env.get("AWS_SECRET_ACCESS_KEY"):
        return env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env.get("AWS_SESSION_TOKEN", "")
    url = env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
    if env.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"):
        url = "http://169.254.170.2" + env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]
    if not url:
        raise S3Error(
            "no AWS credentials: looked for AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY,"
            " AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI;"
            " give the job definition a job role"
        )
    token = env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    request = _request("GET", url, {"Authorization": token} if token else {}, None)
    body = _send("fetching the job role's credentials", request, urllib.request.ProxyHandler({}))
    try:
        found = json.loads(body)
        return found["AccessKeyId"], found["SecretAccessKey"], found.get("Token") or ""
    except (ValueError, KeyError, TypeError):
        raise S3Error(f"no AccessKeyId and SecretAccessKey in the answer of {url}") from None


def locate(uri: str, region: str) -> str:
    """The object's URL: path-style at an endpoint override, else virtual-hosted in the region."""
    found = re.fullmatch("s3://([^/]+)/(.+)", uri, re.DOTALL)
    if not found:
        raise S3Error(f"not an S3 address: {uri!r}; want s3://BUCKET/KEY")
    bucket, key = found[1], quote(found[2], safe="/-_.~")
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        return f"{endpoint.rstrip('/')}/{bucket}/{key}"
    host = f"s3.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")
    # The certificate's wildcard does not cover a bucket name with dots.
    return f"https://{host}/{bucket}/{key}" if "." in bucket else f"https://{bucket}.{host}/{key}"


def signed(
    method: str, url: str, headers: dict[str, str], body: bytes, *, keys: tuple[str, str, str], region: str, now: str
) -> dict[str, str]:
    """The headers with their Signature Version 4; `now` is UTC as 20261121T060000Z."""
    parts, digest = urlsplit(url), hashlib.sha256(body).hexdigest()
    headers = {k.lower(): v for k, v in headers.items()}
    headers.update({"host": parts.netloc, "x-amz-content-sha256": digest, "x-amz-date": now})
    if keys[2]:
        headers["x-amz-security-token"] = keys[2]
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name].strip()}" for name in sorted(headers)]
    canonical = "\n".join([method, parts.path, "", *lines, "", names, digest])
    scope = [now[:8], region, "s3", "aws4_request"]
    key = b"AWS4" + keys[1].encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", now, "/".join(scope), hashlib.sha256(canonical.encode()).hexdigest()])
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys[0]}/{'/'.join(scope)}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


def get(uri: str) -> bytes:
    """The object's bytes. Raises S3Error."""
    return _call("GET", uri, {}, b"")


def put(uri: str, body: bytes, content_type: str) -> None:
    """Write the object. Raises S3Error."""
    _call("PUT", uri, {"content-type": content_type}, body)


def _call(method: str, uri: str, headers: dict[str, str], body: bytes) -> bytes:
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        raise S3Error("no AWS region: looked for AWS_REGION and AWS_DEFAULT_REGION")
    url, now = locate(uri, region), time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = signed(method, url, headers, body, keys=credentials(), region=region, now=now)
    return _send(f"{method} {uri}", _request(method, url, headers, body if method == "PUT" else None))


def _request(method: str, url: str, headers: dict[str, str], body: bytes | None) -> urllib.request.Request:
    if not url.startswith(("https://", "http://")):
        raise S3Error(f"not an http or https address: {url}")
    return urllib.request.Request(url, body, headers, method=method)  # noqa: S310 - the scheme is checked


def _send(what: str, request: urllib.request.Request, *handlers: urllib.request.BaseHandler) -> bytes:
    """The answer's body; what may pass is tried again, with back-off."""
    opener = urllib.request.build_opener(_NoRedirect, *handlers)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with opener.open(request, timeout=TIMEOUT) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                code = re.search(b"<Code>(.*?)</Code>", error.read())
            cause = f"HTTP {error.code} {code[1].decode() if code else error.reason}"
            passing = error.code in RETRIED or "SlowDown" in cause
        except (OSError, http.client.HTTPException) as error:
            cause, passing = str(error) or type(error).__name__, True
        if not passing:
            break
        if attempt < ATTEMPTS:
            time.sleep(min(8, PAUSE * 2 ** (attempt - 1)) * random.uniform(0.5, 1))  # noqa: S311 - jitter
    raise S3Error(f"{what} failed at {urlsplit(request.full_url).netloc}: {cause} (attempt {attempt})")


def main(arguments: list[str]) -> None:
    """Become the zip application at the given address, with the other arguments."""
    try:
        body = get(arguments[0])
    except S3Error as error:
        raise SystemExit(f"mnp: {error}") from None
    descriptor, path = tempfile.mkstemp(prefix="mnp-node-", suffix=".pyz")
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
    os.environ["MNP_NODE_DOWNLOADED"] = path  # the application removes it at its end
    os.execv(sys.executable, [sys.executable, path, *arguments[1:]])  # noqa: S606 - no shell wanted


if __name__ == "__main__":
    main(sys.argv[1:])
