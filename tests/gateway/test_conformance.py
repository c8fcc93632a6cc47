"""The results of a public conformance suite for the responses of the gateway.

`llm-comply` checks answers against the published schemas, with required fields enforced. It runs
once for each client API and each wire that the model behind the gateway may speak.
"""

from __future__ import annotations

import re

import pytest
from gateway.serving import UPSTREAMS, Below, Gateways, serving
from llm_comply.cli import _SPEC_FILES  # type: ignore[import-untyped]
from llm_comply.config import ComplianceConfig  # type: ignore[import-untyped]
from llm_comply.http import close_client  # type: ignore[import-untyped]
from llm_comply.runner import TestRunner as Runner  # type: ignore[import-untyped]
from llm_comply.schema import _SPECS_DIR, SpecLoader  # type: ignore[import-untyped]
from llm_comply.tests import get_tests  # type: ignore[import-untyped]
from pages import ROOT

from toolwire.gateway.app import Gateway
from toolwire.gateway.config.environment import config_from_environment
from toolwire.gateway.config.model_table import ModelTable
from toolwire.mock.server import MockProvider

MODELS = {
    "open-responses": "gpt-5",
    "openai-chat": "gpt-5",
    "anthropic": "claude-opus-5",
    "google-genai": "gemini-3-pro",
    "google-interactions": "gemini-3-pro",
}
"""The formats of the suite, and a model for which it skips no test."""
TOTALS = {
    "open-responses": 13,
    "openai-chat": 9,
    "anthropic": 9,
    "google-genai": 9,
    "google-interactions": 9,
}
_NO_THOUGHTS = {"interactions-thinking": "the provider shows no thoughts for a level alone"}
REFUSED = {
    **{
        ("google-interactions", upstream): _NO_THOUGHTS
        for upstream in UPSTREAMS
        if upstream not in ("openai-responses", "gemini-interactions")
    }
}
"""What the provider itself refuses or does not send, and why. This table may only get shorter."""


@pytest.mark.filterwarnings("ignore:jsonschema.RefResolver is deprecated")
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("suite", MODELS)
def test_the_conformance_suite_passes(suite: str, upstream: str, gateways: Gateways) -> None:
    failed, total = run_suite(suite, gateways.url(upstream))
    assert failed.keys() == REFUSED.get((suite, upstream), {}).keys(), failed
    assert total == TOTALS[suite]


@pytest.mark.filterwarnings("ignore:jsonschema.RefResolver is deprecated")
@pytest.mark.parametrize("suite", MODELS)
def test_the_offline_gateway_passes_as_many_checks_as_documented(suite: str) -> None:
    page = (ROOT / "docs/reference/answers.md").read_text()
    documented = re.findall(r"^\| `([a-z-]+)` \| `([\w.-]+)` \| (\d+) of (\d+) \|$", page, re.M)
    with serving(Below({"openai": MockProvider("openai-chat")})) as up:
        models = ModelTable(config_from_environment({}), {}, demo_url=up)
        with serving(Gateway(models)) as url:
            failed, total = run_suite(suite, url)
    assert (suite, MODELS[suite], str(total - len(failed)), str(total)) in documented, failed
    readme = (ROOT / "README.md").read_text()
    assert f"{total - len(failed)}/{total}" in readme


def run_suite(suite: str, url: str) -> tuple[dict[str, list[str]], int]:
    """The tests of a suite that fail, with their errors, and the number of all tests."""
    spec = _SPEC_FILES[suite]
    config = ComplianceConfig(
        base_url=f"{url}/v1",
        api_key="any",
        model=MODELS[suite],
        extra_headers={"anthropic-version": "2023-06-01"},
    )
    loader = SpecLoader(None if spec is None else str(_SPECS_DIR / spec))
    try:
        results = Runner(config, get_tests(suite), loader).run_all().results
    finally:
        close_client()
    failed = {result.id: result.errors for result in results if result.status.value != "passed"}
    return failed, len(results)
