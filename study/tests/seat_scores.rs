//! Success and pay by the score of the participant's own seat.

use protocol::control::EndReason;
use study::{
    Episode, Payment, Progress, ProgressEvent, SeatTotals, StageKind, Study, UnitAssignment,
};

use crate::folder::load;

/// A study in which one person trains, with these keys in the stage, and a bonus.
fn trained(keys: &str, bonus: &str) -> String {
    format!(
        "format: 1
study: {{id: trained, version: 1.0.0, title: Trained, contact: lab@example.edu}}
recruitment: {{currency: GBP, base: 1.00, outcomes: {{completed: {{do: approve, pay: base + bonus, code: DONE}}}}}}
timeline:
  - id: play
    type: env
    env: overcooked@2.0.0
    config: {{layout: cramped_room}}
{keys}
  - {{id: thanks, type: end, file: thanks.md}}
bonus: {bonus}
"
    )
}

/// An episode after which the other seat has one point, and the participant's own seat, the second one, has these.
fn made(own: i64) -> Episode {
    Episode {
        score: own + 1,
        ticks: 900,
        seats: SeatTotals {
            scores: vec![1, own],
            rewards: vec![0.25, own as f64 / 2.0],
        },
        seat: 1,
        ..Episode::unplayed_facts(EndReason::Played)
    }
}

/// Plays episodes with these points of the own seat, up to the end of the study.
fn play(study: &Study, own: &[i64]) -> (Progress, usize) {
    let mut progress = Progress::new(study, UnitAssignment::default());
    let mut played = 0;
    while progress.outcome(study).is_none() {
        let episode = made(own[played]);
        let event = ProgressEvent::EpisodeEnded(&episode);
        progress.handle(study, event).expect("the stage goes on");
        played += 1;
    }
    (progress, played)
}

#[test]
fn a_bonus_is_paid_by_own_points_rewards_and_those_of_all_seats() {
    let each = "0.10 * e.own_score + e.own_reward + max(e.rewards) + 0.01 * e.scores[0]";
    let bonus = format!("'sum(play.episodes.map(e, {each}))'");
    let study = load("own-bonus", &trained("    episodes: 2", &bonus)).unwrap();
    let (progress, _) = play(&study, &[3, 4]);
    let outcome = progress.outcome(&study).unwrap();
    // 0.30 + 1.50 + 1.50 + 0.01, and 0.40 + 2 + 2 + 0.01.
    let payment = Payment::of(&study, &progress, outcome, 0, 7, 0);
    assert_eq!(payment.total, 100 + 331 + 441);
    let kept = serde_json::to_string(&progress).unwrap();
    assert_eq!(serde_json::from_str::<Progress>(&kept).unwrap(), progress);
}

#[test]
fn data_in_which_seats_were_not_kept_apart_have_the_score_of_the_group() {
    let text = trained("    episodes: 1", "0.10 * play.episodes[0].own_score");
    let study = load("own-before", &text).unwrap();
    let before = r#"{"reason": "Played", "score": 20, "ticks": 900}"#;
    let before: Episode = serde_json::from_str(before).unwrap();
    let mut progress = Progress::new(&study, UnitAssignment::default());
    progress
        .handle(&study, ProgressEvent::EpisodeEnded(&before))
        .unwrap();
    let outcome = progress.outcome(&study).unwrap();
    let payment = Payment::of(&study, &progress, outcome, 0, 7, 0);
    assert_eq!(payment.total, 300);
}

#[test]
fn a_stage_ends_after_successes_by_a_criterion_in_a_row_or_among_the_last() {
    let until = |keys: &str| trained(&format!("    until: {{{keys}, max_episodes: 9}}"), "0");
    let played = |name: &str, keys: &str, own: &[i64]| {
        let study = load(name, &until(keys)).unwrap();
        play(&study, own).1
    };
    let points = [0, 5, 2, 5, 5, 2, 5, 5, 5, 0];
    assert_eq!(
        played("own-any", "min_successes: 2", &points),
        2,
        "the score of the group is above 0"
    );
    let success = "success: own_score >= 5, min_successes: 3";
    assert_eq!(played("own-success", success, &points), 5);
    assert_eq!(
        played("own-row", &format!("{success}, of_last: 3"), &points),
        9
    );
    assert_eq!(
        played("own-part", &format!("{success}, of_last: 4"), &points),
        5
    );
    assert_eq!(
        played(
            "own-reward",
            "success: own_reward > 2 && ticks == 900, min_successes: 1",
            &points
        ),
        2
    );
    assert_eq!(
        played(
            "own-none",
            "success: own_score / 0 > 1, min_successes: 1",
            &points
        ),
        9
    );
}

#[test]
fn criteria_that_cannot_be_are_refused_with_a_way_out() {
    let wrong = |name: &str, keys: &str| load(name, &trained(keys, "0")).unwrap_err();
    let found = wrong(
        "own-row-of-none",
        "    until: {of_last: 3, max_episodes: 9}",
    );
    assert!(
        found.contains("until.of_last: it is about `min_successes`"),
        "{found}"
    );
    let found = wrong(
        "own-row-short",
        "    until: {min_successes: 4, of_last: 3, max_episodes: 9}",
    );
    assert!(
        found.contains("write `min_successes: 3` and `of_last: 3`"),
        "{found}"
    );
    let found = wrong(
        "own-word",
        "    until: {success: own_scor > 1, min_successes: 1, max_episodes: 9}",
    );
    assert!(
        found.contains("unknown name `own_scor`; did you mean `own_score`?"),
        "{found}"
    );
    let pair = "    players: [self, partner]\n    until: {success: own_score > 1, min_successes: 1, max_episodes: 9}";
    let lobby = "timeline:\n  - {id: lobby, type: lobby, group_size: 2, timeout_s: 9, on_timeout: leave, else: study_full}\n";
    let text = trained(pair, "0").replace("timeline:\n", lobby);
    let found = load("own-pair", &text).unwrap_err();
    assert!(
        found.contains("so `own_score` cannot decide; write for example `min(scores) > 0`"),
        "{found}"
    );
    load("own-all", &text.replace("own_score > 1", "min(scores) > 1")).unwrap();
}

#[test]
fn ends_and_numbers_beside_the_picture_may_ask_for_rewards() {
    let keys = "    until: {formula: 'rewards.exists(r, r >= 2.5) || sum(rewards) > 9', max_episodes: 2}
    hud: [{label: Yours, value: 'rewards[seat]'}, {label: All, value: '{{ round2(sum(rewards)) }} points'}]";
    let study = load("live-rewards", &trained(keys, "0")).unwrap();
    let StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("not an env stage")
    };
    assert!(env.shows_rewards() && env.rules(&[]).ask_rewards());
    let scores = trained(
        "    until: max(scores) > 3\n    hud: [{label: Own, value: 'scores[seat]'}]",
        "0",
    );
    let study = load("live-scores", &scores).unwrap();
    let StageKind::Env(env) = &study.timeline[0].kind else {
        panic!("not an env stage")
    };
    assert!(!env.shows_rewards() && !env.rules(&[]).ask_rewards());
    let found = load("live-reward", &trained("    until: own_reward > 3", "0")).unwrap_err();
    assert!(found.contains("unknown name `own_reward`"), "{found}");
}
