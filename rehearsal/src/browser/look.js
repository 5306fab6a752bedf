// The state of the page that a person sees, and the actions that it offers. Evaluated in the page by `page.rs`.
(() => {
  const one = selector => document.querySelector(selector);
  const all = (of, selector) => [...of.querySelectorAll(selector)];
  const report = JSON.parse(window.coplay?.report?.() ?? "{}");

  const field = element => {
    const groups = new Map();
    const checks = new Map();
    all(element, "label.choice").forEach((label, at) => {
      const input = label.querySelector("input");
      if (input.type === "checkbox") {
        const list = input.closest(".choices");
        if (!checks.has(list)) checks.set(list, []);
        return checks.get(list).push(at);
      }
      if (!groups.has(input.name)) groups.set(input.name, []);
      groups.get(input.name).push([at, input.value]);
    });
    const typed = all(element, "input:not([type=radio], [type=checkbox]), textarea, select");
    return {
      shown: element.getClientRects().length > 0,
      required: !!element.querySelector(".required"),
      missing: element.matches(".missing, :has(.missing)"),
      answered: !!element.querySelector(":checked, .ranking .open[hidden]")
        || typed.some(input => input.value !== "" && !input.classList.contains("untouched")),
      groups: [...groups.values()],
      checks: [...checks].filter(([list]) => !list.querySelector(":checked")).map(([, labels]) => labels),
      moves: all(element, ".ranking button:not([disabled])").length,
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
