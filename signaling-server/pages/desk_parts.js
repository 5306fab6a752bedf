// The parts that the dashboard is made of: elements, tables, bars, times. They know nothing of studies.

export const at = id => document.getElementById(id);
export const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });
export const when = us => (us ? clock.format(new Date(us / 1000)) : '');

/** An element with attributes and children; texts are texts, never HTML. */
export function el(name, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

export const put = (id, ...children) => at(id).replaceChildren(...children.filter(Boolean));
export const none = text => el('p', { className: 'soft', textContent: text });

/** A time in words, from microseconds. */
export function duration(us) {
  const seconds = Math.max(0, Math.round(us / 1e6));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}

/** A number of bytes in words. */
export function bytes(count) {
  if (count === null || count === undefined) return 'not known';
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}

const isEmpty = cell => (cell instanceof Element ? !cell.hasChildNodes() : (cell ?? '') === '');

/** What stands in the row above, too: shown only where each row is a list of its own. */
export const again = textContent => el('span', { className: 'again', textContent });

/** A table without its empty columns; a head that begins with # is one of numbers. */
export function table(heads, rows) {
  const told = heads.map((_, index) => rows.some(cells => !isEmpty(cells[index])));
  const only = list => list.filter((_, index) => told[index]);
  const shown = only(heads).map(text => ({ label: text.replace('#', ''), className: text.startsWith('#') ? 'number' : '' }));
  const head = el('tr', { role: 'row' }, ...shown.map(({ label, className }) => el('th', { role: 'columnheader', scope: 'col', textContent: label, className })));
  const line = cells => el('tr', { role: 'row' }, ...only(cells).map((cell, index) => {
    const td = el('td', { role: 'cell', className: shown[index].className });
    td.dataset.label = shown[index].label;
    if (!isEmpty(cell)) td.append(cell);
    return td;
  }));
  const made = el('table', { role: 'table' }, el('thead', { role: 'rowgroup' }, head), el('tbody', { role: 'rowgroup' }, ...rows.map(line)));
  return el('div', { className: 'scroll', tabIndex: 0 }, made);
}

/** A bar of parts `[count, class]` of all. */
export function bar(parts, all) {
  const box = el('span', { className: 'share', ariaHidden: 'true' });
  let before = 0;
  for (const [count, className] of parts) {
    const part = el('span', { className });
    part.style.setProperty('inset-inline-start', `${all ? (100 * before) / all : 0}%`);
    part.style.setProperty('width', `${all ? Math.min(100, (100 * count) / all) : 0}%`);
    before += count;
    box.append(part);
  }
  return box;
}

export const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);
