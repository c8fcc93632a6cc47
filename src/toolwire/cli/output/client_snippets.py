"""What to type to try a gateway: lines for curl, and a few lines for each official client. Knows no
verb."""

from __future__ import annotations

import json

QUESTION = "Say hello."


def curls(url: str, model: str, *, key: bool = False) -> list[str]:
    """Three lines that work in any shell."""
    shown = ' -H "authorization: Bearer $TOOLWIRE_KEY"' if key else ""
    asked = [{"role": "user", "content": QUESTION}]
    bodies = (
        ("/v1/chat/completions", {"model": model, "messages": asked}),
        ("/v1/messages", {"model": model, "max_tokens": 200, "messages": asked}),
        (
            f"/v1beta/models/{model}:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]},
        ),
    )
    return [
        f"curl -s {url}{path} -H 'content-type: application/json'{shown} -d '{json.dumps(body)}'"
        for path, body in bodies
    ]


def clients(url: str, model: str, *, key: bool = False) -> dict[str, str]:
    """A program for each official client, by its name; that of `ai` is JavaScript."""
    secret = 'os.environ["TOOLWIRE_KEY"]' if key else '"none"'
    head = "import os\n" if key else ""
    asked = f'[{{"role": "user", "content": "{QUESTION}"}}]'
    bearer = f', headers={{"authorization": "Bearer " + {secret}}}' if key else ""
    script = ', headers: { authorization: "Bearer " + process.env.TOOLWIRE_KEY }' if key else ""
    return {
        "openai": (
            f"""{head}from openai import OpenAI
client = OpenAI(base_url="{url}/v1", api_key={secret})
answer = client.chat.completions.create(model="{model}", messages={asked})
print(answer.choices[0].message.content)"""
        ),
        "anthropic": (
            f"""{head}from anthropic import Anthropic
client = Anthropic(base_url="{url}", api_key={secret})
answer = client.messages.create(model="{model}", max_tokens=200, messages={asked})
print(answer.content[0].text)"""
        ),
        "google-genai": (
            f"""{head}from google import genai
client = genai.Client(api_key={secret}, http_options={{"base_url": "{url}"}})
print(client.models.generate_content(model="{model}", contents="{QUESTION}").text)"""
        ),
        "ollama": (
            f"""{head}from ollama import Client
client = Client(host="{url}"{bearer})
print(client.chat(model="{model}", messages={asked}).message.content)"""
        ),
        "ai": (
            f"""import {{ DefaultChatTransport, readUIMessageStream }} from "ai";
const transport = new DefaultChatTransport({{ api: "{url}/ai-sdk/chat", body: {{ model: "{model}" }}{script} }});
const asked = [{{ id: "m1", role: "user", parts: [{{ type: "text", text: "{QUESTION}" }}] }}];
const stream = await transport.sendMessages({{ chatId: "c1", trigger: "submit-message", messages: asked }});
let said = "";
for await (const message of readUIMessageStream({{ stream }})) said = message.parts.map(part => part.text ?? "").join("");
console.log(said);"""
        ),
    }
