//! Payments by the rules of the file.

use protocol::control::EndReason;
use study::recruitment::RecruiterAction;
use study::{Episode, Outcome, Payment, Progress, ProgressEvent, Study, UnitAssignment};

use crate::folder::load;

const PAID: &str = "format: 1
study: {id: paid, version: 1.0.0, title: Paid, contact: lab@example.edu}
recruitment:
  currency: GBP
  base: 4.50
  time_rate_per_hour: 9.00
  outcomes:
    completed: {do: approve, pay: base + bonus, code: CDONE}
    failed_quiz: {do: return, pay: none}
    technical: {do: return_then_pay, pay: 'max(time, 1) + bonus'}
timeline:
  - id: play
    type: env
    env: overcooked@2.0.0
    repeat: 2
    config: {layout: cramped_room}
  - {id: thanks, type: end, file: thanks.md}
bonus: round2(clamp(0.02 * sum(play.episodes.map(e, e.score)), 0.0, 5.0))
";

fn played(score: i64) -> ProgressEvent<'static> {
    ended(Episode {
        score,
        ..Episode::unplayed_facts(EndReason::Played)
    })
}

fn ended(episode: Episode) -> ProgressEvent<'static> {
    let ticks = 900;
    ProgressEvent::EpisodeEnded(Box::leak(Box::new(Episode { ticks, ..episode })))
}

const HOUR_MS: u64 = 3_600_000;

fn paid(study: &Study, events: &[ProgressEvent<'_>], time_ms: u64) -> Payment {
    let mut progress = Progress::new(study, UnitAssignment::default());
    for event in events {
        progress.handle(study, *event).expect("the study takes it");
    }
    let outcome = progress.outcome(study).expect("the end");
    Payment::of(study, &progress, outcome, time_ms, 7, 0)
}

#[test]
fn base_bonus_and_time_are_paid_as_the_outcome_says() {
    let study = load("payment", PAID).unwrap();
    let done = paid(&study, &[played(40), played(-3)], HOUR_MS);
    assert_eq!(
        (done.base, done.bonus, done.time, done.total, done.extra),
        (450, 74, 0, 524, 524)
    );
    assert_eq!(done.code.as_deref(), Some("CDONE"));
    let capped = paid(&study, &[played(400), played(1)], HOUR_MS);
    assert_eq!((capped.bonus, capped.total), (500, 950));

    let cut = [played(40), ProgressEvent::Cut(Outcome::Technical)];
    let technical = paid(&study, &cut, HOUR_MS / 3);
    assert_eq!(
        (
            technical.base,
            technical.bonus,
            technical.time,
            technical.total
        ),
        (0, 80, 300, 380)
    );
    let short = paid(&study, &cut, 1_000);
    assert_eq!((short.time, short.total), (0, 180));
    let nothing = paid(&study, &[ProgressEvent::Cut(Outcome::FailedQuiz)], HOUR_MS);
    assert_eq!((nothing.total, nothing.currency), (0, None));
}

#[test]
fn what_the_file_says_nothing_of_is_paid_as_usual() {
    let study = load("payment-usual", PAID).unwrap();
    let left = paid(&study, &[ProgressEvent::Left], HOUR_MS / 60);
    assert_eq!((left.outcome, left.total), (Outcome::LeftEarly, 15));
    let full = paid(&study, &[ProgressEvent::Cut(Outcome::StudyFull)], HOUR_MS);
    assert_eq!(full.total, 0);
    let partner = paid(&study, &[ProgressEvent::Cut(Outcome::PartnerLeft)], HOUR_MS);
    assert_eq!(partner.total, 450);
}

#[test]
fn time_is_paid_up_to_twice_the_minutes_of_the_study_or_the_limit_that_it_names() {
    let left = |keys: &str| {
        let keys = format!("  time_rate_per_hour: 9.00\n{keys}");
        let text = PAID.replacen("  time_rate_per_hour: 9.00\n", &keys, 1);
        let study = load(&format!("payment-cap-{}", keys.len()), &text).unwrap();
        let payment = paid(&study, &[ProgressEvent::Left], 12 * HOUR_MS);
        assert_eq!(payment.time_ms, 12 * HOUR_MS, "it is told as it was");
        payment.total
    };
    assert_eq!(left("  minutes: 10\n"), 300);
    assert_eq!(left("  minutes: 10\n  max_time_minutes: 30\n"), 450);
    assert_eq!(left(""), 1_800, "two hours where nothing is said");
}

/// The study with a debriefing.
fn debriefed(more: &str) -> String {
    let last = "  - {id: thanks, type: end, file: thanks.md}\n";
    let debrief = "  - {id: debrief, type: debrief, file: how.md, allow_withdraw: true}\n";
    let text = PAID.replacen(last, &format!("{debrief}{last}"), 1);
    text.replacen("    failed_quiz:", &format!("{more}    failed_quiz:"), 1)
}

#[test]
fn who_withdraws_is_paid_and_reported_to_the_recruiter_as_without_it() {
    let study = load("payment-withdrawn", &debriefed("")).unwrap();
    let after = |reason, last: ProgressEvent<'static>| {
        let episode = |score| {
            ended(Episode {
                score,
                ..Episode::unplayed_facts(reason)
            })
        };
        paid(&study, &[episode(40), episode(20), last], HOUR_MS)
    };
    let withdrawn = ProgressEvent::Withdrawn { at: 2 };
    let done = ProgressEvent::StageDone {
        at: 2,
        answers: &[],
    };
    for reason in [EndReason::Played, EndReason::Technical] {
        let (kept, gone) = (after(reason, done), after(reason, withdrawn));
        assert_eq!(gone.outcome, Outcome::Withdrew);
        let rest = |payment: &Payment| Payment {
            outcome: Outcome::Withdrew,
            ..payment.clone()
        };
        assert_eq!(rest(&kept), gone, "{reason:?}");
    }
    // The study's own rule has priority.
    let own = debriefed("    withdrew: {do: return, pay: base}\n");
    let study = load("payment-withdrawn-own", &own).unwrap();
    let events = [played(40), played(20), withdrawn];
    let gone = paid(&study, &events, HOUR_MS);
    assert_eq!((gone.total, gone.deed), (450, RecruiterAction::Return));
}

#[test]
fn leaving_early_and_a_page_that_failed_are_not_withdrawals() {
    let study = load("payment-left", &debriefed("")).unwrap();
    let left = paid(&study, &[played(40), ProgressEvent::Left], HOUR_MS);
    assert_eq!(
        (left.outcome, left.deed, left.total),
        (Outcome::LeftEarly, RecruiterAction::ReturnThenPay, 900)
    );
    let failed = [played(40), ProgressEvent::Cut(Outcome::PageFailed)];
    let failed = paid(&study, &failed, HOUR_MS);
    assert_eq!((failed.deed, failed.total), (RecruiterAction::Return, 0));
}

#[test]
fn codes_and_numbers_are_drawn_from_the_seed() {
    let study = load("payment-codes", PAID).unwrap();
    let code = |outcome, seed| study::payment::code(&study, outcome, seed).unwrap();
    assert_eq!(code(Outcome::Completed, 1), "CDONE");
    assert_eq!(code(Outcome::Technical, 7), code(Outcome::Technical, 7));
    assert_ne!(code(Outcome::Technical, 7), code(Outcome::Technical, 8));
    assert_ne!(code(Outcome::Technical, 7), code(Outcome::LeftEarly, 7));
    let receipt = |number| {
        let mut progress = Progress::new(&study, UnitAssignment::default());
        progress.handle(&study, ProgressEvent::Left).unwrap();
        Payment::of(&study, &progress, Outcome::LeftEarly, 0, 7, number).receipt
    };
    assert_eq!(receipt(3), receipt(3));
    assert_ne!(receipt(3), receipt(4));
}

#[test]
fn a_rule_without_a_value_counts_as_nothing_and_says_so() {
    let mean = PAID.replace("sum(play.", "mean(play.");
    let study = load("payment-mean", &mean).unwrap();
    let cut = paid(&study, &[ProgressEvent::Cut(Outcome::PartnerLeft)], HOUR_MS);
    assert_eq!((cut.bonus, cut.total), (0, 450));
    let note = cut.note.expect("a note");
    assert!(note.contains("`mean` of an empty list"), "{note}");
}

#[test]
fn faults_in_what_is_paid_are_told_at_their_place() {
    let faults = [
        (
            "pay: base + bonus",
            "pay: base + bonuss",
            "8:42: recruitment.outcomes.completed.pay: unknown name `bonuss`; did you mean `bonus`?",
        ),
        (
            "pay: base + bonus",
            "pay: base > bonus",
            "the formula gives true or false, and a number is wanted here",
        ),
        (
            "sum(play.",
            "sum(paly.",
            "bonus: unknown name `paly`; did you mean `play`?",
        ),
        ("e.score)), 0.0", "e.scores)), 0.0", "bonus: "),
        (
            "code: CDONE",
            "code: C DONE",
            "recruitment.outcomes.completed.code: `C DONE` is not a completion code",
        ),
        (
            "do: return, pay: none",
            "do: return, pay: none, code: CDONE",
            "recruitment.outcomes.failed_quiz.code: `completed` has this code too",
        ),
        ("  currency: GBP\n", "", "in which currency is not said"),
        (
            "bonus: round2",
            "bonsu: round2",
            "recruitment.outcomes.completed.pay: pays `bonus`, which is not said; write for example `bonus: 0.5` at the top of the file",
        ),
    ];
    for (number, (from, to, wanted)) in faults.into_iter().enumerate() {
        assert!(PAID.contains(from), "{from}");
        let name = format!("payment-fault-{number}");
        let told = load(&name, &PAID.replacen(from, to, 1)).unwrap_err();
        assert!(told.contains(wanted), "{from} → {to}: {told}");
    }
}

#[test]
fn what_a_withdrawal_means_for_the_pay_is_said_as_it_is() {
    let meant = |name: &str, text: &str| {
        let study = load(&format!("payment-means-{name}"), text).unwrap();
        let sentences = study.page_sentences();
        let all = serde_json::json!(sentences);
        let meant = |language: &str| all[language]["withdraw_means"].as_str().map(str::to_owned);
        (meant("en"), meant("de"))
    };
    let withdrew = |rule: &str| debriefed(&format!("    withdrew: {rule}\n"));
    let terms = "  base: 4.50\n  time_rate_per_hour: 9.00\n";
    let bonus = PAID.lines().last().unwrap();
    let by_time = "  time_rate_per_hour: 9.00\n  outcomes:\n    completed: {do: approve, pay: time}\n    \
                   partner_left: {do: approve, pay: time}\n    technical: {do: approve, pay: time}\n    \
                   withdrew: {do: approve, pay: time}\n";
    let rules = debriefed("");
    let outcomes = rules.find("  outcomes:\n").unwrap()..rules.find("timeline:").unwrap();
    let mut base_of_zero = rules.clone();
    base_of_zero.replace_range(outcomes.clone(), "");
    let of_time = base_of_zero.replacen(terms, by_time, 1).replace(bonus, "");
    let base_of_zero = base_of_zero
        .replacen(terms, "  base: 0.00\n", 1)
        .replace(bonus, "");
    let same = (
        "What you are paid stays the same.",
        "Ihre Vergütung bleibt gleich.",
    );
    let none = ("you won't be paid.", "erhalten Sie keine Vergütung.");
    let other = ("the next page shows it.", "nennt ihn die nächste Seite.");
    for (name, text, (english, german)) in [
        ("usual", debriefed(""), same),
        ("time", of_time, same),
        ("none", withdrew("{do: return, pay: none}"), none),
        ("other", withdrew("{do: return_then_pay, pay: time}"), other),
        // One of the people who reach the debriefing is paid by another rule.
        ("full", withdrew("{do: approve, pay: base + bonus}"), other),
    ] {
        let (in_english, in_german) = meant(name, &text);
        let (in_english, in_german) = (in_english.unwrap(), in_german.unwrap());
        assert!(
            in_english.starts_with("Your answers") && in_english.ends_with(english),
            "{name}: {in_english}"
        );
        assert!(
            in_german.starts_with("Ihre Antworten") && in_german.ends_with(german),
            "{name}: {in_german}"
        );
    }
    assert_eq!(meant("zero", &base_of_zero), (None, None));
    assert_eq!(meant("nobody", PAID), (None, None));
}

#[test]
fn without_a_server_only_outcomes_that_can_happen_need_a_code() {
    let file = PAID.replace("  currency", "  provider: prolific\n  currency");
    let study = load("payment-offline", &file).unwrap();
    let needs = study.list_server_needs();
    assert_eq!(needs.len(), 1, "{needs:?}");
    let told = needs[0].to_string();
    for outcome in ["left_early", "technical", "page_failed"] {
        assert!(told.contains(&format!("`{outcome}`")), "{told}");
    }
    for outcome in ["completed", "partner_left", "lobby_timeout", "ineligible"] {
        assert!(!told.contains(&format!("`{outcome}`")), "{told}");
    }
}
