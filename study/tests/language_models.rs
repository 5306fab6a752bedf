//! Language models in the study file: what is read, and what is refused.

use study::language_model::ModelProvider;
use study::{StageKind, Study};

use crate::folder::Folder;

const STUDY: &str = "format: 1
study: {id: talk, version: 1.0.0, title: Talk, contact: lab@example.edu}
partners:
  guide:
    shown_as: Guide
    language_model:
      provider: mock
      transcript: answers.json
      prompt: guide.txt
  helper:
    policy: cook
    buttons: [{do: wait, label: Wait}, {do: fetch_plate, label: {en: A plate}}]
    language_model: {provider: openai, url: https://llm.example.edu/v1/, model: m, prompt: guide.txt, every_s: 20}
design:
  between:
    goal: {levels: [red, blue]}
timeline:
  - id: talk
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    assistant: guide
    chat: true
    config: {layout: \"{{ goal }}\"}
  - id: told
    type: env
    env: overcooked@2.0.0
    players: [self, helper]
    chat: true
";

const ANSWERS: &str = r#"{"answers": [{"answer": "Hello"}]}"#;

/// The study with one thing changed, in its own text or in a file beside it.
fn read(name: &str, from: &str, to: &str) -> Result<Study, Vec<String>> {
    let folder = Folder::new(&format!("model-{name}"));
    folder.write("guide.txt", "It is {{ goal }}.");
    folder.write("answers.json", ANSWERS);
    if from.ends_with(".json") || from.ends_with(".txt") {
        folder.write(from, to);
        folder.write("study.yaml", STUDY);
    } else {
        assert_eq!(STUDY.matches(from).count(), 1, "`{from}` must stand once");
        folder.write("study.yaml", STUDY.replace(from, to));
    }
    let told = |problems: Vec<study::Problem>| problems.iter().map(ToString::to_string).collect();
    study::load(&folder.path).map_err(told)
}

#[test]
fn a_model_has_its_provider_prompt_schedule_and_limits() {
    let study = read("good", "chat: true\n    config", "chat: true\n    config");
    let study = study.unwrap_or_else(|problems| panic!("{problems:#?}"));
    let StageKind::Env(talk) = &study.timeline[0].kind else {
        panic!("an env stage")
    };
    let guide = talk.assistant.as_ref().unwrap();
    assert_eq!(
        (guide.name.as_str(), guide.shown_as.as_str()),
        ("guide", "Guide")
    );
    assert_eq!(guide.prompt, "It is {{ goal }}.");
    assert!(guide.schedule.on_message && guide.schedule.every_s.is_none());
    let StageKind::Env(told) = &study.timeline[1].kind else {
        panic!("an env stage")
    };
    let helper = told
        .ai_partners()
        .find_map(|bot| bot.language_model.as_ref());
    let helper = helper.unwrap();
    let url = "https://llm.example.edu/v1".to_owned();
    assert_eq!(helper.provider, ModelProvider::OpenAi { url });
    assert_eq!(
        (helper.schedule.every_s, helper.limits.requests),
        (Some(20), 60)
    );
    assert!(study.canonical.contains("llm.example.edu"));
}

/// A change that is refused, and the words that its message must have.
const REFUSED: [(&str, &str, &str, &str); 17] = [
    (
        "url",
        ", url: https://llm.example.edu/v1/",
        "",
        "partners.helper.language_model.url: missing; write the address",
    ),
    (
        "scheme",
        "https://llm.example.edu/v1/",
        "llm.example.edu",
        "is no address; write one such as",
    ),
    (
        "key-in-url",
        "https://llm.example.edu/v1/",
        "\"https://llm.example.edu/v1?key=1\"",
        "give the key to `coplay serve --model-key`",
    ),
    (
        "key",
        "every_s: 20",
        "parameters: {api_key: x}",
        "parameters.api_key: a key does not belong into a study file",
    ),
    (
        "own-key",
        "every_s: 20",
        "parameters: {messages: []}",
        "parameters.messages: is written by Coplay itself",
    ),
    (
        "never",
        "every_s: 20",
        "on_message: false",
        "the model is never asked; write `at_start: true`",
    ),
    (
        "price",
        "every_s: 20",
        "limits: {study_cost: 3}",
        "a limit on cost needs the price of tokens; write for example",
    ),
    (
        "transcript",
        "answers.json",
        r#"{"answers": [{"anser": 1}]}"#,
        "`answers.json` is no transcript: unknown field `anser`",
    ),
    (
        "no-answers",
        "answers.json",
        r#"{"answers": []}"#,
        "`answers.json` has no answers; write at least one",
    ),
    (
        "name",
        "guide.txt",
        "It is {{ gaol }}.",
        "names `gaol`, which stands for nothing at this stage",
    ),
    (
        "blinded",
        "    policy: cook\n",
        "    policy: cook\n    disclose: false\n",
        "a language model is not to pass for a person; write `disclose: true`",
    ),
    (
        "seat",
        "{policy: cook}]",
        "guide]",
        "`guide` has no policy, so it cannot play; write `assistant: guide`",
    ),
    (
        "assistant",
        "assistant: guide",
        "assistant: helper",
        "`helper` has a policy, so it takes a seat; name it in `players`",
    ),
    (
        "unknown",
        "assistant: guide",
        "assistant: gide",
        "unknown partner `gide`",
    ),
    (
        "twice",
        "players: [self, {policy: cook}]",
        "players: [self, helper]",
        "two language models would speak at once",
    ),
    (
        "chat",
        "    assistant: guide\n    chat: true\n",
        "    assistant: guide\n",
        "can only write, and there is no chat; write `chat: true`",
    ),
    (
        "host",
        "    assistant: guide\n",
        "    assistant: guide\n    run: host\n",
        "cannot see an environment that runs on a host; write `run: page`",
    ),
];

#[test]
fn what_cannot_work_is_refused_with_the_fix() {
    for (name, from, to, expected) in REFUSED {
        let found = read(name, from, to).expect_err(name);
        assert!(
            found.iter().any(|problem| problem.contains(expected)),
            "{name}: {found:#?}"
        );
    }
}

#[test]
fn a_model_speaks_with_one_person_alone() {
    let found = read(
        "together",
        "players: [self, {policy: cook}]",
        "players: [self, partner]",
    );
    let found = found.expect_err("a fault").join("\n");
    assert!(
        found.contains("speaks with one person, and several play here"),
        "{found}"
    );
    let bot = "    on_disconnect: {then: bot, bot: helper}\n    chat: true\n    config";
    let found = read("bot", "    chat: true\n    config", bot)
        .expect_err("a fault")
        .join("\n");
    assert!(found.contains("name a partner without one here"), "{found}");
}

/// Changes to buttons that are refused, and the words that the message must have.
const REFUSED_BUTTONS: [(&str, &str, &str, &str); 4] = [
    (
        "twice",
        "{do: fetch_plate, label: {en: A plate}}",
        "{do: wait, label: Stop}",
        "partners.helper.buttons[1].do: another button has `wait`, too",
    ),
    (
        "unlabelled",
        "{do: wait, label: Wait}",
        "{do: wait}",
        "partners.helper.buttons[0].label: missing",
    ),
    (
        "seatless",
        "    shown_as: Guide\n",
        "    shown_as: Guide\n    buttons: [{do: wait, label: Wait}]\n",
        "partners.guide.buttons: only a partner with a policy of its own can be told what to do",
    ),
    (
        "called",
        "design:\n  between:\n    goal: {levels: [red, blue]}\ntimeline:\n  - id: talk\n    type: env\n",
        "  spare: {policy: cook, buttons: [{do: wait, label: Wait}]}\ndesign:\n  between:\n    goal: {levels: [red, blue]}\n\
         timeline:\n  - id: talk\n    type: env\n    on_disconnect: {then: bot, bot: spare}\n",
        "`spare` has buttons, which the page shows for a partner in `players` alone",
    ),
];

#[test]
fn buttons_belong_to_a_partner_with_a_policy_each_with_its_own_directive() {
    let study = read("buttons", "every_s: 20", "every_s: 20");
    let study = study.unwrap_or_else(|problems| panic!("{problems:#?}"));
    let StageKind::Env(told) = &study.timeline[1].kind else {
        panic!("an env stage")
    };
    let buttons = told.ai_partners().find_map(|bot| bot.buttons.as_ref());
    let buttons = buttons.expect("the partner has buttons");
    assert_eq!(buttons.shown_as, "helper", "it has no other name");
    let read_on: Vec<_> = buttons
        .list
        .iter()
        .map(|of| of.label.usual_text())
        .collect();
    assert_eq!(read_on, ["Wait", "A plate"]);
    for (name, from, to, expected) in REFUSED_BUTTONS {
        let found = read(name, from, to).expect_err(name);
        let is_told = found.iter().any(|problem| problem.contains(expected));
        assert!(is_told, "{name}: {found:#?}");
    }
}
