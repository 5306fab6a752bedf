//! Screening in a study file: what is read, what is refused, and who can take part.

use protocol::control::{Ability, Answer, Device, Lack};
use study::screening::{ID, Measured};
use study::{Outcome, Progress, ProgressEvent, StageKind, Study, UnitAssignment};

use crate::folder::{Folder, STUDY};

fn load(name: &str, screening: &str) -> Result<Study, Vec<String>> {
    let folder = Folder::new(name);
    let text = STUDY.replace("timeline:\n", &format!("{screening}\ntimeline:\n"));
    folder.write("study.yaml", &text);
    study::load(&folder.path).map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn measured() -> Measured {
    Measured {
        device: Device::Phone,
        webrtc: false,
        fullscreen: true,
        audio: true,
        keyboard: false,
        touch: true,
        width: 390,
        height: 844,
        rtt_ms: Some(180.0),
        fps: Some(28.0),
        step_ms: None,
    }
}

#[test]
fn it_is_the_first_stage_and_ends_in_its_outcome() {
    let study = load(
        "screening-first",
        "screening: {min_fps: 30, else: technical}",
    )
    .unwrap();
    let first = &study.timeline[0];
    assert_eq!(first.id, ID);
    assert!(matches!(first.kind, StageKind::Screening(_)));
    assert!(study.screening().is_some());
    assert!(study.outcomes().contains(&Outcome::Technical));
    let mut progress = Progress::new(&study, UnitAssignment::default());
    let answers = measured().answers();
    for left in [2, 1] {
        let event = ProgressEvent::StageDone {
            at: 0,
            answers: &answers,
        };
        progress.handle(&study, event).unwrap();
        assert_eq!(progress.outcome(&study), None, "{left} are left");
    }
    let event = ProgressEvent::StageDone {
        at: 0,
        answers: &answers,
    };
    progress.handle(&study, event).unwrap();
    assert_eq!(progress.outcome(&study), Some(Outcome::Technical));
    assert_eq!(progress.lacks(), [Lack::Fps(30)]);
    assert_eq!(progress.facts().screening, None);
}

#[test]
fn everything_that_is_lacking_is_told_at_once() {
    let study = load(
        "screening-all",
        "screening:
  device: [desktop, tablet]
  browser: [webrtc, audio, keyboard]
  min_window: {width: 390, height: 845}
  max_rtt_ms: 179
  min_fps: 28
  max_step_ms: 0.5
  formula: device != \"phone\" && step_ms < 1
  explain: {en: Take a computer., de: Nimm einen Computer.}",
    )
    .unwrap();
    let screening = study.screening().unwrap();
    let lacks = screening.list_lacks(&measured(), "de");
    assert_eq!(
        lacks,
        [
            Lack::Device(vec![Device::Desktop, Device::Tablet]),
            Lack::Ability(Ability::Webrtc),
            Lack::Ability(Ability::Keyboard),
            Lack::Window {
                width: 390,
                height: 845
            },
            Lack::Rtt(179),
            // What was not measured is lacking.
            Lack::Step(500),
            Lack::Other("Nimm einen Computer.".into()),
        ]
    );
    let fine = Measured {
        device: Device::Tablet,
        webrtc: true,
        keyboard: true,
        height: 845,
        rtt_ms: Some(179.0),
        step_ms: Some(0.5),
        ..measured()
    };
    assert_eq!(screening.list_lacks(&fine, "en"), []);
}

#[test]
fn later_formulas_can_ask_for_what_was_measured() {
    let text = "screening: {attempts: 1}\nbonus: 'screening.fps > 20 ? 1 : 0'\nrecruitment: {currency: EUR}";
    let study = load("screening-bonus", text).unwrap();
    let mut progress = Progress::new(&study, UnitAssignment::default());
    let answers: Vec<Answer> = measured().answers();
    let event = ProgressEvent::StageDone {
        at: 0,
        answers: &answers,
    };
    progress.handle(&study, event).unwrap();
    assert_eq!(progress.facts().screening.as_deref(), Some(&measured()));
    let scope = progress.facts().scope(&study, &progress.bindings(&study));
    let bonus = study.bonus.as_ref().unwrap().eval(&scope);
    assert_eq!(bonus, Ok(1.0.into()));
}

#[test]
fn faults_are_told_with_their_place_and_mend() {
    let told = |name: &str, screening: &str| load(name, screening).unwrap_err().join("\n");
    assert_eq!(
        told("screening-type", "screening: {formula: fps + 1}"),
        "study.yaml:8:22: screening.formula: the formula gives a number, and true or false is wanted here; compare it, as in `score >= 20`"
    );
    assert_eq!(
        told("screening-name", "screening: {formula: frames > 30}"),
        "study.yaml:8:22: screening.formula: unknown name `frames`; known here: audio, device, fps, fullscreen, height, keyboard, rtt_ms, step_ms, touch, webrtc, width"
    );
    assert_eq!(
        told(
            "screening-explain",
            "screening: {min_fps: 30, explain: Sorry}"
        ),
        "study.yaml:8:26: screening.explain: never told, as there is no `formula`; all else is explained by the page itself, so remove it"
    );
    assert_eq!(
        told("screening-key", "screening: {min_fsp: 30, max_rtt_ms: 0}"),
        "study.yaml:8:13: screening.min_fsp: unknown key; did you mean `min_fps`? Known here: device, browser, min_window, max_rtt_ms, min_fps, max_step_ms, formula, explain, attempts, else\nstudy.yaml:8:38: screening.max_rtt_ms: expected a whole number from 1 to 5000 milliseconds, found `0`"
    );
}

#[test]
fn a_limit_on_steps_wants_something_that_steps() {
    let folder = Folder::new("screening-steps");
    let text = "format: 1
study: {id: small, version: 1, title: Small, contact: lab@example.edu}
screening: {max_step_ms: 1}
timeline:
  - {id: how, type: instructions, pages: [how.md]}
";
    folder.write("study.yaml", text);
    let problems = study::load(&folder.path).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "study.yaml:3:13: screening.max_step_ms: the study has no env stage whose steps could be measured; remove it"
        ]
    );
}
