// What a person sees on the page and could do there. Evaluated in the page by `page.rs`.
(() => {
  const one = selector => document.querySelector(selector);
  const all = (of, selector) => [...of.querySelectorAll(selector)];
  const report = JSON.parse(window.coplay?.report?.() ?? "{}");

  const field = element => {
    const groups = new Map();
    const checks = [];
    all(element, "label.choice").forEach((label, at) => {
      const input = label.querySelector("input");
      if (input.type === "checkbox") return checks.push(at);
      if (!groups.has(input.name)) groups.set(input.name, []);
      groups.get(input.name).push([at, input.value]);
    });
    const typed = all(element, "input:not([type=radio], [type=checkbox]), textarea, select");
    return {
      shown: element.getClientRects().length > 0,
      required: !!element.querySelector(".required"),
      missing: element.classList.contains("missing"),
      answered: !!element.querySelector(":checked") || typed.some(input => input.value !== ""),
      groups: [...groups.values()],
      checks,
      typed: typed.map(input => (input.tagName === "INPUT" ? input.type : input.tagName.toLowerCase())),
    };
  };

  return {
    kind: report.stage_kind ?? null,
    index: report.stage_index ?? null,
    plays: !!one("section.play") && report.status === "playing",
    outcome: !!one("section.play .overlay button.primary"),
    asked: all(document, "section.lobby .question:not([hidden]) button").length,
    fields: all(document, "form.survey fieldset.item").map(field),
    code: one("section.end .code strong")?.innerText ?? "",
  };
})()
