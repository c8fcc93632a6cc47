// Opens a page in Chromium, sends one message, and prints the state of the chat once it has an answer or an error.
//
//     node drive.mjs CHROMIUM PAGE_URL TEXT
import { chromium } from 'playwright-core';

const [executablePath, url, text] = process.argv.slice(2);
const flags = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const browser = await chromium.launch({ executablePath, args: flags });
try {
  const page = await browser.newPage();
  await page.goto(url);
  await page.waitForFunction(() => window.ask);
  await page.evaluate(text => window.ask(text), text);
  const state = await page.waitForFunction(() => {
    const state = JSON.parse(document.getElementById('state').textContent);
    const done = state.status === 'ready' && state.messages.at(-1)?.parts.at(-1)?.type === 'text' && state.messages.length > 1;
    return state.status === 'error' || done ? state : null;
  });
  console.log(JSON.stringify(await state.jsonValue()));
} finally {
  await browser.close();
}
