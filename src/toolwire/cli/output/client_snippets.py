"""Snippets that try a gateway: curl lines, and a short program for each official client."""

from __future__ import annotations

import json

QUESTION = "Say hello."


def curl_lines(url: str, model: str, *, key: bool = False) -> list[str]:
    """Return three curl lines that work in any shell."""
    header = ' -H "authorization: Bearer $TOOLWIRE_KEY"' if key else ""
    messages = [{"role": "user", "content": QUESTION}]
    bodies = (
        ("/v1/chat/completions", {"model": model, "messages": messages}),
        ("/v1/messages", {"model": model, "max_tokens": 200, "messages": messages}),
        (
            f"/v1beta/models/{model}:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]},
        ),
    )
    return [
        f"curl -s {url}{path} -H 'content-type: application/json'{header} -d '{json.dumps(body)}'"
        for path, body in bodies
    ]


def client_programs(url: str, model: str, *, key: bool = False) -> dict[str, str]:
    """Return a program for each official client by its name; that of `ai` is JavaScript."""
    secret = 'os.environ["TOOLWIRE_KEY"]' if key else '"none"'
    imports = "import os\n" if key else ""
    messages = f'[{{"role": "user", "content": "{QUESTION}"}}]'
    bearer = f', headers={{"authorization": "Bearer " + {secret}}}' if key else ""
    js_headers = ', headers: { authorization: "Bearer " + process.env.TOOLWIRE_KEY }' if key else ""
    bearer_env = 'os.environ["AWS_BEARER_TOKEN_BEDROCK"] = os.environ["TOOLWIRE_KEY"]\n'
    aws_imports = f"import os\n{bearer_env}" if key else ""
    aws_keys = "" if key else ', aws_access_key_id="none", aws_secret_access_key="none"'
    return {
        "openai": (
            f"""{imports}from openai import OpenAI
client = OpenAI(base_url="{url}/v1", api_key={secret})
response = client.chat.completions.create(model="{model}", messages={messages})
print(response.choices[0].message.content)"""
        ),
        "anthropic": (
            f"""{imports}from anthropic import Anthropic
client = Anthropic(base_url="{url}", api_key={secret})
response = client.messages.create(model="{model}", max_tokens=200, messages={messages})
print(response.content[0].text)"""
        ),
        "google-genai": (
            f"""{imports}from google import genai
client = genai.Client(api_key={secret}, http_options={{"base_url": "{url}"}})
print(client.models.generate_content(model="{model}", contents="{QUESTION}").text)"""
        ),
        "boto3": (
            f"""{aws_imports}import boto3
client = boto3.client("bedrock-runtime", endpoint_url="{url}", region_name="us-east-1"{aws_keys})
messages = [{{"role": "user", "content": [{{"text": "{QUESTION}"}}]}}]
response = client.converse(modelId="{model}", messages=messages)
print(response["output"]["message"]["content"][0]["text"])"""
        ),
        "mistralai": (
            f"""{imports}from mistralai.client import Mistral
client = Mistral(server_url="{url}/mistral", api_key={secret})
print(client.chat.complete(model="{model}", messages={messages}).choices[0].message.content)"""
        ),
        "cohere": (
            f"""{imports}from cohere import ClientV2
client = ClientV2(base_url="{url}", api_key={secret})
print(client.chat(model="{model}", messages={messages}).message.content[0].text)"""
        ),
        "ollama": (
            f"""{imports}from ollama import Client
client = Client(host="{url}"{bearer})
print(client.chat(model="{model}", messages={messages}).message.content)"""
        ),
        "ai": (
            f"""import {{ DefaultChatTransport, readUIMessageStream }} from "ai";
const transport = new DefaultChatTransport({{ api: "{url}/ai-sdk/chat", body: {{ model: "{model}" }}{js_headers} }});
const messages = [{{ id: "m1", role: "user", parts: [{{ type: "text", text: "{QUESTION}" }}] }}];
const stream = await transport.sendMessages({{ chatId: "c1", trigger: "submit-message", messages }});
let text = "";
for await (const message of readUIMessageStream({{ stream }})) text = message.parts.map(part => part.text ?? "").join("");
console.log(text);"""
        ),
    }
