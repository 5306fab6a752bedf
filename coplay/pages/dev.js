// What a page of `coplay dev` does beside the study: it reloads when the study has changed, and shows the faults of the
// study while it is being written, and why an environment failed. Pages of `coplay serve` do not have it.

const PAUSE_MS = 700;

const box = document.createElement('aside');
box.id = 'dev-faults';
box.setAttribute('role', 'alert');
box.hidden = true;

const part = (name, text) => Object.assign(document.createElement(name), { textContent: text });

let shown;

function show({ faults, breakdowns }) {
  const now = JSON.stringify([faults, breakdowns]);
  if (now === shown) return;
  shown = now;
  box.hidden = faults.length + breakdowns.length === 0;
  if (box.hidden) return;
  box.replaceChildren();
  if (faults.length > 0) {
    const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
    box.append(part('h2', `study.yaml has ${count}`), part('p', 'This page shows the study as it was before.'));
  }
  for (const fault of faults) {
    const place = fault.line ? `${fault.file}:${fault.line}:${fault.column}` : fault.file;
    box.append(part('h3', fault.path ? `${place} ${fault.path}` : place), part('p', fault.message));
    if (fault.text) {
      const caret = ' '.repeat(Math.max(fault.column - 1, 0));
      box.append(part('pre', `${fault.text.replaceAll('\t', ' ')}\n${caret}^`));
    }
  }
  const last = breakdowns.at(-1);
  if (last) {
    const times = breakdowns.length === 1 ? '' : `, ${breakdowns.length} times`;
    const where = `In episode ${last.episode}, after tick ${last.tick}. The episode ended as technical.`;
    box.append(part('h2', `The environment broke down${times}`), part('p', where), part('pre', last.text));
  }
  if (!box.isConnected) document.body.append(box);
}

let known;

async function look() {
  try {
    const state = await (await fetch('/dev/state', { cache: 'no-store' })).json();
    if (known && state.anew !== known.anew) sessionStorage.removeItem('coplay.session');
    if (known && (state.anew !== known.anew || state.loaded !== known.loaded)) return location.reload();
    known = state;
    show(state);
  } catch {
    // The server is between two versions of the study, or was stopped; the page itself says so.
  }
  setTimeout(look, PAUSE_MS);
}

document.addEventListener('DOMContentLoaded', look);
