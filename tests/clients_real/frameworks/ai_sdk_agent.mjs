// The npm package `ai` with `@ai-sdk/openai-compatible`. Arguments: the folder of the packages, and the request as JSON.
import { createRequire } from 'node:module';

const [, , folder, request] = process.argv;
const require = createRequire(`${folder}/package.json`);
const { generateText, streamText, stepCountIs, tool } = require('ai');
const { createOpenAICompatible } = require('@ai-sdk/openai-compatible');
const { z } = require('zod');

const { url, model, prompt, stream } = JSON.parse(request);
const degrees = { Oslo: '4 degrees', Rome: '21 degrees' };
const tools = {
  weather: tool({
    description: 'Current weather of a city',
    inputSchema: z.object({ city: z.string() }),
    // The first city that is asked for takes longest.
    execute: async ({ city }) => {
      await new Promise(done => setTimeout(done, city === 'Oslo' ? 200 : 0));
      return `${city}: ${degrees[city]}`;
    },
  }),
  station_status: tool({
    description: 'Status of a weather station',
    inputSchema: z.object({ station: z.string() }),
    execute: async ({ station }) => {
      throw new Error(`station ${station} is closed`);
    },
  }),
};
const provider = createOpenAICompatible({ name: 'gateway', baseURL: `${url}/v1`, apiKey: 'any-key' });
const options = { model: provider(model), prompt, tools, stopWhen: stepCountIs(6), maxRetries: 0 };
console.log(await (stream ? streamText(options) : await generateText(options)).text);
