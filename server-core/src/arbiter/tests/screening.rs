//! Screening of devices: measurements are judged, reported, and stored no earlier than allowed.

use protocol::control::{Device, Lack};
use study::screening::Measured;

use super::*;

const WINDOW: Lack = Lack::Window {
    width: 1_024,
    height: 640,
};

fn stage(consent: bool) -> Stage {
    let consent = match consent {
        true => "  - {id: consent, type: consent, file: page.md}\n",
        false => "",
    };
    let timeline = format!(
        "screening: {{min_window: {{width: 1024, height: 640}}, min_fps: 30, attempts: 2}}
timeline:
{consent}  - {{id: how, type: instructions, pages: [page.md]}}
  - {{id: play, type: env, env: overcooked@2.0.0, players: [self, {{policy: cook}}]}}
"
    );
    Stage::read(&timeline, Limits::default())
}

fn measured(width: u16) -> Vec<Answer> {
    let measured = Measured {
        device: Device::Desktop,
        webrtc: true,
        fullscreen: true,
        audio: true,
        keyboard: true,
        touch: false,
        width,
        height: 800,
        rtt_ms: Some(31.5),
        fps: Some(60.0),
        step_ms: None,
    };
    measured.answers()
}

fn done(stage: &mut Stage, at: u16, answers: Vec<Answer>) -> Vec<ServerMessage> {
    stage.say(
        1,
        ClientMessage::StageDone {
            stage: at,
            answers,
            pages_ms: vec![3_000],
        },
    );
    stage.hear(1)
}

fn agree(stage: &mut Stage, heard: &[ServerMessage]) -> Vec<ServerMessage> {
    let Some(StageView::Consent { sha256, .. }) = view(heard) else {
        panic!("{heard:?}")
    };
    let answer = Answer {
        name: "agreed".into(),
        value: format!("\"{sha256}\""),
    };
    done(stage, 1, vec![answer])
}

/// True if anything that was stored says how wide the window is.
fn is_written(stage: &Stage) -> bool {
    stage.writes.iter().any(|write| {
        let (answers, progress) = match write {
            Write::Place {
                answers, progress, ..
            } => (answers.as_ref(), progress),
            Write::NewSession { progress, .. } => (None, progress),
            _ => return false,
        };
        let mut given = answers.into_iter().flat_map(|given| &given.answers);
        let position = serde_json::to_string(progress).unwrap();
        given.any(|answer| answer.name == "width") || position.contains("\"width\":1280")
    })
}

#[test]
fn what_was_measured_is_kept_with_the_agreement_and_not_before() {
    let mut stage = stage(true);
    stage.enter(1, Entry::Open);
    let heard = stage.hear(1);
    let Some(StageView::Screening {
        trials,
        lacks,
        attempts,
    }) = view(&heard)
    else {
        panic!("{heard:?}")
    };
    assert_eq!((trials.len(), lacks.len(), *attempts), (1, 0, 2));
    let heard = done(&mut stage, 0, measured(1_280));
    assert!(!is_written(&stage));
    agree(&mut stage, &heard);
    assert!(is_written(&stage));
    assert!(stage.writes.iter().all(|write| match write {
        Write::Place { answers, .. } => {
            let mut given = answers.iter().flat_map(|given| &given.answers);
            !given.any(|answer| answer.name == "width")
        }
        _ => true,
    }));
}

#[test]
fn of_those_who_do_not_agree_nothing_that_was_measured_is_kept() {
    let mut stage = stage(true);
    stage.enter(1, Entry::Open);
    done(&mut stage, 0, measured(1_280));
    done(&mut stage, 1, Vec::new());
    assert!(!is_written(&stage));
}

#[test]
fn a_restart_before_the_agreement_measures_again() {
    let mut stage = stage(true);
    let token = stage.enter(1, Entry::Open);
    done(&mut stage, 0, measured(1_280));
    stage.restart();
    stage.resume(1, &token, None);
    let heard = stage.hear(1);
    assert!(matches!(view(&heard), Some(StageView::Screening { .. })));
    let heard = done(&mut stage, 0, measured(1_280));
    agree(&mut stage, &heard);
    // After it the server knows what it needs.
    stage.restart();
    stage.resume(1, &token, None);
    let heard = stage.hear(1);
    assert!(matches!(view(&heard), Some(StageView::Instructions { .. })));
}

#[test]
fn without_a_consent_it_is_kept_at_once() {
    let mut stage = stage(false);
    stage.enter(1, Entry::Open);
    let heard = done(&mut stage, 0, measured(1_280));
    assert!(matches!(view(&heard), Some(StageView::Instructions { .. })));
    assert!(is_written(&stage));
}

#[test]
fn who_can_mend_it_goes_on_and_who_cannot_ends_as_ineligible_and_is_told_why() {
    let mut stage = stage(true);
    stage.enter(1, Entry::Open);
    let heard = done(&mut stage, 0, measured(800));
    let Some(StageView::Screening {
        lacks, attempts, ..
    }) = view(&heard)
    else {
        panic!("{heard:?}")
    };
    assert_eq!((&lacks[..], *attempts), (&[WINDOW][..], 1));
    let heard = done(&mut stage, 0, measured(1_280));
    let Some(StageView::Consent { .. }) = view(&heard) else {
        panic!("{heard:?}")
    };

    let mut stage = self::stage(true);
    stage.enter(1, Entry::Open);
    done(&mut stage, 0, measured(800));
    let heard = done(&mut stage, 0, measured(801));
    let Some(StageView::End {
        outcome, farewell, ..
    }) = view(&heard)
    else {
        panic!("{heard:?}")
    };
    assert_eq!(outcome, "ineligible");
    assert_eq!(farewell.lacks, [WINDOW]);
    let written = format!("{:?}", stage.writes);
    assert!(
        !written.contains("800") && !written.contains("801"),
        "{written}"
    );
}

#[test]
fn who_gives_up_ends_as_ineligible_and_nonsense_is_not_taken() {
    let mut stage = stage(true);
    stage.enter(1, Entry::Open);
    let mut nonsense = measured(1_280);
    nonsense[0].value = "[]".into();
    let heard = done(&mut stage, 0, nonsense);
    assert!(
        matches!(view(&heard), Some(StageView::Screening { lacks, attempts: 2, .. }) if lacks.is_empty()),
        "{heard:?}"
    );
    done(&mut stage, 0, measured(800));
    let heard = done(&mut stage, 0, Vec::new());
    let Some(StageView::End {
        outcome, farewell, ..
    }) = view(&heard)
    else {
        panic!("{heard:?}")
    };
    assert_eq!(
        (outcome.as_str(), &farewell.lacks[..]),
        ("ineligible", &[WINDOW][..])
    );
}
