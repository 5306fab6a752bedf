//! Braces in short texts of the study file: questions of a quiz show values, and nothing else does.

use crate::folder::{self, Folder};
use protocol::control::{Answer, StageView};
use study::{Progress, ProgressEvent, UnitAssignment};

const QUIZ: &str = "format: 1
study: {id: asked, version: 1.0.0, title: Asked, contact: lab@example.edu, languages: [en, de]}
timeline:
  - id: intake
    type: survey
    title: {en: About you, de: Zu Ihnen}
    surveyjs: {elements: [{type: text, name: age, inputType: number, title: Age}]}
  - id: check
    type: quiz
    items:
      - name: old
        ask: {en: 'You are {{ answers.intake.age }}. In two years?', de: 'Sie sind {{ answers.intake.age }}. In zwei Jahren?'}
        choices: [{value: 1, text: 'As today: {{ answers.intake.age }}'}, {value: 2, text: '{{ answers.intake.age + 2 }}'}]
        answer: 2
  - id: after
    type: survey
    title: 'You are {{ answers.intake.age }}'
    surveyjs: {elements: [{type: comment, name: why}]}
";

/// The faults of a study, one per line.
fn faults(text: &str) -> String {
    let number: u64 = text.bytes().map(u64::from).sum();
    let folder = Folder::new(&format!("short-braces-{number}"));
    folder.write("study.yaml", text);
    let problems = study::load(&folder.path).err().unwrap_or_default();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    told.join("\n")
}

#[test]
fn quizzes_and_headings_of_forms_show_earlier_answers() {
    let folder = Folder::new("short-braces");
    folder.write("study.yaml", QUIZ);
    let study = study::load(&folder.path).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let answer = |name: &str, value: &str| Answer {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let read = |language: &str| {
        let mut at = Progress::new(&study, UnitAssignment::default());
        at.choose_language(&study, Some(&language.to_owned()), &[]);
        let mut done = |at_visit: u16, answers: &[Answer]| {
            let event = ProgressEvent::StageDone {
                at: at_visit,
                answers,
            };
            at.handle(&study, event).expect("a step");
            match at.view(&study) {
                StageView::Quiz { surveyjs, .. } | StageView::Survey { surveyjs } => surveyjs,
                other => panic!("a form: {other:?}"),
            }
        };
        let quiz = done(0, &[answer("age", "31")]);
        (quiz, done(1, &[answer("old", "2")]))
    };
    let (quiz, form) = read("en");
    for part in ["You are 31. In two years?", "As today: 31", "\"33\""] {
        assert!(quiz.contains(part), "{part} in {quiz}");
    }
    assert!(form.contains("You are 31"), "{form}");
    let (quiz, _) = read("de");
    assert!(quiz.contains("Sie sind 31. In zwei Jahren?"), "{quiz}");
}

#[test]
fn unknown_names_in_a_quiz_or_a_heading_are_told_at_their_place() {
    let with = |from: &str, to: &str| {
        assert!(QUIZ.contains(from), "{from}");
        faults(&QUIZ.replace(from, to))
    };
    assert_eq!(faults(QUIZ), "");
    let misspelt = with(
        "de: 'Sie sind {{ answers.intake.age }}",
        "de: 'Sie sind {{ answers.intake.agee }}",
    );
    assert!(
        misspelt.starts_with("study.yaml:12:")
            && misspelt.contains("ask.de: ")
            && misspelt.contains("`agee`"),
        "{misspelt}"
    );
    let choice = with(
        "As today: {{ answers.intake.age }}",
        "As today: {{ nobody }}",
    );
    assert!(
        choice.starts_with("study.yaml:13:") && choice.contains("`nobody`"),
        "{choice}"
    );
    let single = with("You are {{ answers.intake.age }}. In", "You are {age}. In");
    assert!(
        single.contains("`{age}` is not filled in here; for the answer to an earlier form, write `{{ answers.STAGE.age }}`"),
        "{single}"
    );
    let open = with("As today: {{ answers.intake.age }}", "As today: {{ answers");
    assert!(open.contains("`{{` has no end; write `}}`"), "{open}");
    let heading = with(
        "title: 'You are {{ answers.intake.age }}'",
        "title: 'You are {{ nobody }}'",
    );
    assert!(
        heading.starts_with("study.yaml:17:")
            && heading.contains("title: ")
            && heading.contains("`nobody`"),
        "{heading}"
    );
    let in_form = with("name: why}", "name: why, title: 'Are you {{ answers'}");
    assert!(in_form.contains("`{{` has no end"), "{in_form}");
}

#[test]
fn braces_in_a_text_that_nothing_fills_in_are_told() {
    let small = |from: &str, to: &str| {
        assert!(folder::STUDY.contains(from), "{from}");
        faults(&folder::STUDY.replace(from, to))
    };
    let stage = |stage: &str| small("  - id: after\n", &format!("{stage}\n  - id: after\n"));
    let screen = |keys: &str| small("    window: 8\n", &format!("    window: 8\n    {keys}\n"));
    let watch = |keys: &str| {
        stage(&format!(
            "  - {{id: again, type: watch, clips: [{{stage: play}}], {keys}}}"
        ))
    };
    let quiz = "items: [{name: a, ask: Which?, choices: ['{{ nobody }}', 2], answer: 2}]";
    let told = [
        small("title: Small", "title: 'Small {{ nobody }}'"),
        small(
            "title: Small",
            "title: {en: Small, de: 'Klein {{ nobody }}'}",
        ),
        small(
            "timeline:\n",
            "screening: {formula: audio, explain: 'No {{ nobody }}'}\ntimeline:\n",
        ),
        screen("hud: [{label: '{{ nobody }}', value: score}]"),
        screen("chat: {names: ['{{ nobody }}', Blue]}"),
        watch("mark: {question: '{{ nobody }}'}"),
        watch("mark: {question: Why?, labels: ['{{ nobody }}']}"),
        watch("mark: {question: Why?, labels: [{value: a, text: '{{ nobody }}'}]}"),
        watch("rate: {question: How?, low: '{{ nobody }}', high: good}"),
        stage(&format!("  - {{id: asked, type: quiz, {quiz}}}")),
    ];
    for (number, told) in told.iter().enumerate() {
        let fault = "nothing is filled in here, so participants would read `{{ nobody }}`; leave the braces out";
        assert!(told.ends_with(fault), "{number}: {told}");
        assert_eq!(told.lines().count(), 1, "{number}: {told}");
    }
    for (braces, shown) in [("{age}", "`{age}`"), ("{{ age", "`{{`")] {
        let told = small("title: Small", &format!("title: 'Small {braces}'"));
        assert!(told.contains(&format!("would read {shown};")), "{told}");
    }
    assert_eq!(small("title: Small", "title: 'Small {1, 2} and {a b}'"), "");
}
