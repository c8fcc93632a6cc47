"""Histories of Gemini."""

from __future__ import annotations

from lint.reported.report import ReportedHistory, content, fc, fr, gemini, model, output, person

from toolwire.conversation.json import JSON

_G3: dict[str, JSON] = {"model": "gemini-3-pro"}
_SIGNATURE = "c2lnbmF0dXJl"
_DATA: JSON = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}

CONTENTS = [
    ReportedHistory(
        "gemini-cli#4217",
        "gemini",
        gemini(person(), model(fc(1), fc(2, "g")), person(fr(1)), person()),
        ("partial-batch",),
    ),
    ReportedHistory(
        "gemini-cli#16415", "gemini", gemini(person(), model(fc(1)), person()), ("missing-result",)
    ),
    ReportedHistory(
        "gemini-cli#3814",
        "gemini",
        gemini(
            person(),
            model(fc(1)),
            person(fr(1)),
            person(fr(2, "g")),
            model({"text": "x"}),
            person(),
        ),
        ("count-mismatch",),
        as_text=(2,),
    ),
    ReportedHistory(
        "gemini-cli#11814",
        "gemini",
        gemini(model(fc(1)), person(fr(1)), person()),
        ("history-starts-with-call",),
    ),
    ReportedHistory(
        "continue#11164",
        "gemini",
        gemini(person(), model({"text": "x"}), model(fc(1)), person(fr(1))),
        (),
    ),
    ReportedHistory(
        "gemini-cli#16137", "gemini", gemini(person(), model(fc(1)), person(fr(1), _DATA)), ()
    ),
    ReportedHistory(
        "opencode#43479",
        "gemini",
        gemini(person(), model(fc(1)), person({"text": "note"}, fr(1))),
        (),
    ),
    ReportedHistory(
        "langflow#9437",
        "gemini",
        gemini(person(), model(fc(1)), person(fr(1, ""))),
        ("result-name-mismatch",),
    ),
    ReportedHistory(
        "CLIProxyAPI#2104",
        "gemini",
        gemini(person(), model(fc(1)), person(fr(1, None))),
        ("result-name-mismatch",),
    ),
    ReportedHistory(
        "CLIProxyAPI#5098",
        "gemini",
        gemini(person(), model(fc(1)), person(fr(1, "call_176130"))),
        ("result-name-mismatch",),
    ),
    ReportedHistory(
        "CLIProxyAPI#5199",
        "gemini",
        gemini(person(), model(fc(1, "f"), fc(2, "g")), person(fr(2, "g"), fr(1, "f"))),
        ("results-out-of-order",),
    ),
    ReportedHistory("agno#2649", "gemini", gemini(person(), model(), person()), ("content-shape",)),
    ReportedHistory(
        "chatwise#250",
        "gemini",
        gemini(person(), content("model"), person({"text": "x"})),
        ("content-shape",),
    ),
    ReportedHistory(
        "FLIT#69",
        "vertex-gemini",
        gemini(person(), model(fc(1)), person(fr(1), {"text": ""})),
        ("content-shape",),
    ),
    ReportedHistory(
        "FLIT#70", "gemini", gemini(person(), model(fc(1), {}), person(fr(1))), ("content-shape",)
    ),
    ReportedHistory(
        "generative-ai-js#361",
        "vertex-gemini",
        gemini(person({"text": ""}), model({"text": "x"}), person()),
        ("content-shape",),
    ),
    ReportedHistory(
        "js-genai#1275",
        "gemini",
        gemini(
            person(),
            model(fc(1, thoughtSignature=_SIGNATURE)),
            model(fc(2)),
            person(fr(1), fr(2)),
            **_G3,
        ),
        ("signature-missing",),
    ),
    ReportedHistory(
        "livekit#6135",
        "gemini",
        gemini(person(), model(fc(1)), person(fr(1)), **_G3),
        ("signature-missing",),
    ),
    ReportedHistory(
        "signed-parallel",
        "gemini",
        gemini(
            person(), model(fc(1, thoughtSignature=_SIGNATURE), fc(2)), person(fr(1), fr(2)), **_G3
        ),
        (),
    ),
    ReportedHistory(
        "langchainjs#11209",
        "vertex-gemini-v1",
        gemini(person(), model(fc(1, call_id="c1")), person(fr(1, call_id="c1"))),
        ("id-field-unsupported",),
    ),
    ReportedHistory(
        "pydantic-ai#5493",
        "gemini",
        gemini(person(), model(fc(1, call_id="c1")), person(fr(1, call_id="c1"))),
        (),
    ),
    ReportedHistory(
        "dotnet#6380",
        "gemini",
        gemini(
            person(),
            model(fc(1, call_id="c1"), fc(2, call_id="c2")),
            person(fr(2, call_id="c2"), fr(1, call_id="c1")),
        ),
        (),
    ),
    ReportedHistory(
        "gemini-parallel-same",
        "gemini",
        gemini(person(), model(fc(1), fc(2)), person(fr(1), fr(2))),
        (),
    ),
    ReportedHistory(
        "gemini-function-role",
        "gemini",
        gemini(person(), model(fc(1)), content("function", fr(1))),
        (),
    ),
    ReportedHistory(
        "gemini-split",
        "gemini",
        gemini(person(), model(fc(1), fc(2, "g")), person(fr(1)), person(fr(2, "g"))),
        ("results-split",),
    ),
    ReportedHistory(
        "gemini-start-result",
        "gemini",
        gemini(person(fr(1)), model({"text": "x"}), person()),
        ("history-starts-with-result",),
        as_text=(1,),
    ),
    ReportedHistory(
        "gemini-args-text",
        "gemini",
        gemini(person(), model({"functionCall": {"name": "f", "args": '{"n": 1}'}}), person(fr(1))),
        ("args-wrong-type",),
    ),
    ReportedHistory(
        "gemini-response-text",
        "gemini",
        gemini(
            person(),
            model(fc(1)),
            person({"functionResponse": {"name": "f", "response": output(1)}}),
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "gemini-response-list",
        "gemini",
        gemini(
            person(),
            model(fc(1)),
            person({"functionResponse": {"name": "f", "response": [output(1)]}}),
        ),
        ("output-not-string",),
    ),
    ReportedHistory(
        "gemini-call-in-user",
        "gemini",
        gemini(person(), person(fc(1)), person(fr(1))),
        ("wrong-role",),
    ),
    ReportedHistory(
        "openagent#1666",
        "gemini",
        gemini(person(), content("assistant", fc(1)), person(fr(1))),
        ("wrong-vocabulary",),
    ),
    ReportedHistory(
        "gemini-count-more",
        "gemini",
        gemini(person(), model(fc(1)), person(fr(1), fr(2))),
        ("count-mismatch",),
        as_text=(1, 2),
    ),
    ReportedHistory(
        "gemini-user-between",
        "gemini",
        gemini(person(), model(fc(1)), person(), person(fr(1))),
        ("result-separated",),
    ),
    ReportedHistory(
        "gemini-dup-tools",
        "gemini",
        {**gemini(person()), "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "f"}]}]},
        ("name-collision",),
    ),
    ReportedHistory(
        "gemini-name-space",
        "gemini",
        gemini(person(), model(fc(1, "my tool")), person(fr(1, "my tool"))),
        ("name-bad-charset",),
    ),
    ReportedHistory(
        "gemini-tail",
        "gemini",
        gemini(person(), model(fc(1), fc(2)), person(fr(1, "f"), fr(2, "f")), model(fc(3))),
        (),
    ),
]
