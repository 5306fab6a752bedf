// The status of a study: asks for it again and again, and puts it into the table.

const PAUSE_MS = 2000;

const at = id => document.getElementById(id);
const part = (name, text) => Object.assign(document.createElement(name), { textContent: text });
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });
const time = stamp => (stamp ? clock.format(new Date(stamp)) : '');

function row(session) {
  const tr = document.createElement('tr');
  const visit = session.outcome ? '' : `${session.visit} of ${session.visits}`;
  const cells = [session.participant, session.outcome ? '' : session.stage, visit, session.outcome ?? '', time(session.began), time(session.ended)];
  tr.append(...cells.map(text => part('td', text)));
  return tr;
}

function count(name, number) {
  const box = document.createElement('div');
  box.append(part('dt', name), part('dd', String(number)));
  return box;
}

function show({ study, sessions, outcomes, episodes }) {
  at('title').textContent = study.title;
  at('study').textContent = `${study.id} ${study.version}, ${study.hash.slice(0, 12)}`;
  const under = sessions.filter(session => !session.outcome).length;
  const ends = Object.entries(outcomes).map(([name, number]) => count(name, number));
  at('counts').replaceChildren(count('under way', under), ...ends, count('episodes running', episodes.running), count('episodes over', episodes.over));
  at('rows').replaceChildren(...sessions.map(row));
}

async function look() {
  const notice = at('notice');
  try {
    const answer = await fetch('state', { cache: 'no-store' });
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    show(await answer.json());
    notice.textContent = `As of ${clock.format(new Date())}; refreshed every two seconds.`;
    notice.className = '';
  } catch (error) {
    notice.textContent = `No answer: ${error.message}. What is shown may be out of date; this page tries again.`;
    notice.className = 'late';
  }
  setTimeout(look, PAUSE_MS);
}

look();
