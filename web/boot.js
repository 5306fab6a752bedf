// The only script of the page: loads the client, gives it a steady beat, and reports failures to it.
import init, { Coplay } from "./client_wasm.js";

// The sentences of the first second, in each language: the client is not there yet to say more.
const texts = new Map(JSON.parse(document.getElementById("first-texts").textContent));
const languages = [...texts.keys()];
const mainPart = tag => tag.toLowerCase().split("-")[0];
const findLanguage = wish => languages.find(tag => tag.toLowerCase() === wish.toLowerCase())
  ?? languages.find(tag => mainPart(tag) === mainPart(wish));
const wishes = [new URLSearchParams(location.search).get("lang") ?? "", ...(navigator.languages ?? [])];
const page = document.documentElement;
page.lang = wishes.map(findLanguage).find(Boolean) ?? page.lang;
const words = texts.get(page.lang);
for (const place of document.querySelectorAll("[data-text]")) place.textContent = words[place.dataset.text];

// Only studies with an environment in Python load it.
globalThis.coplayOpenPython = async (...given) => (await import("./python_page.js")).openArchive(...given);
// Only studies with a watch stage load it.
globalThis.coplayOpenFilm = async (...given) => (await import("./film/film.js")).openFilm(...given);

const sorry = (message, ...more) => {
  const main = document.getElementById("app");
  const notice = document.createElement("div");
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  for (const text of [message, ...more]) {
    const line = document.createElement("p");
    line.textContent = text;
    notice.append(line);
  }
  main.replaceChildren(notice);
};

// What keeps the files of a site from working with their server, as a sentence; nothing if they do, and on the pages of
// the server itself. A server that does not answer may do so later: the client tries again and again.
const findSiteFault = async () => {
  const named = name => document.querySelector(`meta[name="${name}"]`)?.content;
  const server = named("coplay-server");
  if (!server || server === "offline") return undefined;
  const asked = `${server.replace(/^ws/, "http")}/site?built=${named("coplay-built")}`;
  try {
    const answer = await fetch(asked, { credentials: "omit", cache: "no-store" });
    return answer.ok ? (await answer.json()).fault : undefined;
  } catch {
    return undefined;
  }
};

const siteFault = findSiteFault();

const start = async () => {
  if (typeof WebAssembly !== "object" || typeof WebSocket !== "function" || typeof Worker !== "function") {
    return sorry(words.first_old_browser);
  }
  // A page that the browser only prepares is nobody yet.
  if (document.prerendering) await new Promise(resolve => document.addEventListener("prerenderingchange", resolve, { once: true }));
  // What the page says already is seen before the client takes its only thread; meanwhile the client arrives. A page
  // that is out of sight has no frames.
  await new Promise(resolve => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 100);
  });
  const fault = await siteFault;
  if (fault) return sorry(words.first_site_fault, fault);
  await init({ module_or_path: new URL("client_wasm_bg.wasm", import.meta.url) });
  // A study without a server: the server's part runs beside the page.
  if (document.querySelector('meta[name="coplay-server"]')?.content === "offline") await import("./offline_page.js");
  const coplay = new Coplay("app");
  window.coplay = coplay;
  // A page that has failed continues nothing.
  const { signal } = coplay;
  // Without an error object it is a notice of the browser or the fault of an extension.
  addEventListener("error", (event) => {
    if (event.error) coplay.fail(`${event.message} (${event.filename}:${event.lineno})`);
  }, { signal });
  addEventListener("unhandledrejection", (event) => coplay.fail(String(event.reason)), { signal });
  const ticker = new Worker(new URL("ticker.js", import.meta.url));
  let beaten = performance.now();
  ticker.onmessage = () => {
    beaten = performance.now();
    coplay.tick();
  };
  coplay.ask_for_beats(ms => ticker.postMessage(ms));
  // Where a keyboard on the screen covers the page instead of making it smaller, what stands at its foot stands above it.
  const seen = window.visualViewport;
  for (const event of ["resize", "scroll"]) {
    seen?.addEventListener(event, () => {
      const covered = Math.max(0, innerHeight - seen.height - seen.offsetTop);
      document.documentElement.style.setProperty("--keyboard", `${covered}px`);
    }, { signal });
  }
  // If the worker does not start or is killed, the page beats for itself.
  const beat = setInterval(() => {
    if (performance.now() - beaten > 500) coplay.tick();
  }, 16);
  // What is printed on the keys, where a browser tells.
  navigator.keyboard?.getLayoutMap?.().then(keys => keys.forEach((name, code) => coplay.name_key(code, name))).catch(() => {});
  // A page that holds a lock is not frozen while it is out of sight: the partner plays on.
  navigator.locks?.request(`coplay ${crypto.getRandomValues(new Uint32Array(2)).join("")}`, () => new Promise(release => signal?.addEventListener("abort", release)));
  signal?.addEventListener("abort", () => {
    ticker.terminate();
    clearInterval(beat);
  });
};

start().catch((error) => {
  console.error(error);
  sorry(words.first_failed);
});
