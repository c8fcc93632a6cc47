// A chat page with one client tool. `?api=URL` is the chat endpoint; the tool answers its second call first.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createRoot } from 'react-dom/client';

const api = new URLSearchParams(location.search).get('api');
const weather = {
  description: 'The weather in a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const DELAY = { Oslo: 300, Rome: 0 };

function Chat() {
  const chat = useChat({
    transport: new DefaultChatTransport({ api, body: { model: 'demo', tools: { weather } } }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => {
      const { city } = toolCall.input;
      const output = `weather of ${city}`;
      setTimeout(() => chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output }), DELAY[city]);
    },
  });
  window.ask = text => void chat.sendMessage({ text });
  return <pre id="state">{JSON.stringify({ status: chat.status, error: chat.error?.message ?? null, messages: chat.messages })}</pre>;
}

createRoot(document.getElementById('root')).render(<Chat />);
