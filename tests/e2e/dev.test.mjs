// `coplay dev` in a browser: pages follow the study, and show what is wrong with it.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { SOON, Server, coplay, launch, scratch, sideBySide } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/** A study from a template under `coplay dev`, and a page in it. */
async function begun(t) {
  const folder = await scratch(t);
  const study = `${folder}/study`;
  const { code, stderr } = await coplay('new', 'survey', study);
  assert.equal(code, 0, stderr);
  const server = await Server.start({ study, data: `${folder}/data`, reload: true });
  t.after(() => server.kill());
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  t.after(() => context.close());
  const page = await context.newPage();
  const change = async (file, from, to) => {
    const text = await readFile(`${study}/${file}`, 'utf8');
    assert.ok(text.includes(from), from);
    await writeFile(`${study}/${file}`, text.replace(from, to));
  };
  return { server, page, change };
}

const sees = (page, text) => page.getByText(text).first().waitFor({ timeout: SOON });

sideBySide(2, () => {
  test('a page shows the study as it is now, and what is wrong with it meanwhile', async t => {
    const { server, page, change } = await begun(t);
    await page.goto(server.links[0]);
    await sees(page, 'This is a short survey about video games.');

    await change('consent.md', 'a short survey', 'a tiny survey');
    await sees(page, 'This is a tiny survey about video games.');

    await change('study.yaml', 'file: consent.md', 'file: consnet.md');
    await sees(page, 'did you mean `consent.md`?');
    await change('study.yaml', 'file: consnet.md', 'file: consent.md');
    await page.locator('#dev-faults').waitFor({ state: 'hidden', timeout: SOON });

    // Another way: the page begins anew by the link that it came by.
    await change('study.yaml', '  - {id: consent, type: consent, file: consent.md}\n', '');
    await sees(page, 'How often do you play video games?');
  });
});
