// A host that knows nothing of Coplay: it gives the files of a folder.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';

/** Its media types. */
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm', '.svg': 'image/svg+xml' };

/** A host of plain files below a path, which adds no header; and what else it was sent, if it takes posts. */
export async function host(t, folder, prefix, posts) {
  const server = createServer(async (asked, answer) => {
    if (asked.method === 'POST' && posts) {
      const parts = [];
      for await (const part of asked) parts.push(part);
      answer.writeHead(await posts.status?.() ?? 200, { 'access-control-allow-origin': '*' }).end();
      return posts.push({ type: asked.headers['content-type'], body: Buffer.concat(parts) });
    }
    const { pathname } = new URL(asked.url, 'http://host');
    const below = pathname.startsWith(prefix) ? pathname.slice(prefix.length) : '../none';
    const file = path.join(folder, below === '' ? 'index.html' : below);
    const found = file.startsWith(folder) && await stat(file).then(facts => facts.isFile(), () => false);
    if (!found) return answer.writeHead(404).end();
    answer.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
    return createReadStream(file).pipe(answer);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}${prefix}`;
}
