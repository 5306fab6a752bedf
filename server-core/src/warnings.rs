//! Warnings about a running study, each with advice: a function of a researcher's view of the study and of its machine.

use serde::Serialize;

use crate::desk::RecruitmentState;
use crate::overview::{StageFunnel, StudyOverview};

/// Less free disk than this is too little, bytes.
const LITTLE_DISK: u64 = 1_000_000_000;
/// From this time on, the wait of somebody for whom nobody can come counts as long, microseconds.
const LONG_WAIT_US: u64 = 120_000_000;
/// A round trip from which on people notice rollbacks, microseconds.
const SLOW_US: u32 = 250_000;
/// Packets that are lost on a bad connection, of a thousand.
const LOSSY: u16 = 50;
/// The least number of people from which a share is meaningful.
const ENOUGH: u32 = 5;

/// The machine on which the server runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MachineState {
    /// Free bytes on the disk of the data folder; `None` where the system does not say.
    pub disk_free: Option<u64>,
    /// All bytes of that disk.
    pub disk_size: Option<u64>,
    /// The reason why answers are held back, if the disk does not take them.
    pub disk_fault: Option<String>,
    /// Programs that want to run, the mean of the last minute; `None` where the system does not say.
    pub load: Option<f64>,
    /// Processors.
    pub cores: u32,
    /// Memory that this process has, bytes.
    pub memory: Option<u64>,
    /// The environments that broke down since the start.
    pub broken_environments: Vec<String>,
}

/// The urgency of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningLevel {
    /// Data or people are affected now.
    Urgent,
    /// Something to look at.
    Notice,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeskWarning {
    /// Its urgency.
    pub level: WarningLevel,
    /// The matter.
    pub what: String,
    /// The advice.
    pub advice: String,
}

/// The warnings about a study and its machine, urgent ones first.
pub fn list_warnings(study: &StudyOverview, machine: &MachineState) -> Vec<DeskWarning> {
    let mut warnings = warn_of_machine(machine);
    warnings.extend(warn_of_messages(study));
    warnings.extend(warn_of_places(study));
    warnings.extend(warn_of_waits(study));
    warnings.extend(warn_of_networks(study));
    warnings.extend(warn_of_failures(study));
    warnings.extend(study.stages.iter().filter_map(warn_of_dropouts));
    warnings.sort_by_key(|warning| warning.level);
    warnings
}

fn urgent(what: String, advice: &str) -> DeskWarning {
    DeskWarning {
        level: WarningLevel::Urgent,
        what,
        advice: advice.to_owned(),
    }
}

fn notice(what: String, advice: &str) -> DeskWarning {
    DeskWarning {
        level: WarningLevel::Notice,
        ..urgent(what, advice)
    }
}

fn warn_of_machine(machine: &MachineState) -> Vec<DeskWarning> {
    let mut warnings = Vec::new();
    if let Some(fault) = &machine.disk_fault {
        warnings.push(urgent(
            format!("The server cannot write to the disk: {fault}"),
            "Free space or repair the disk. Until then, pages wait; acknowledged answers are safe.",
        ));
    }
    if let Some(free) = machine.disk_free.filter(|free| *free < LITTLE_DISK) {
        warnings.push(urgent(
            format!("Only {} MB of the disk are free.", free / 1_000_000),
            "Free space; with a full disk, the server accepts no answers.",
        ));
    }
    let cores = f64::from(machine.cores.max(1));
    if let Some(load) = machine.load.filter(|load| *load > cores) {
        warnings.push(notice(
            format!(
                "The machine is busy: a load of {load:.1} on {} processors.",
                machine.cores
            ),
            "Pause recruitment, or stop other programs on this machine.",
        ));
    }
    for broken in &machine.broken_environments {
        warnings.push(urgent(
            format!("An environment failed: {broken}"),
            "Its episodes end as technical. Read the server's log, and pause recruitment until it is repaired.",
        ));
    }
    warnings
}

fn warn_of_messages(study: &StudyOverview) -> Option<DeskWarning> {
    let unread = study.exchanges.iter().filter(|it| it.unread > 0);
    let oldest = unread.clone().min_by_key(|it| it.unread_since_us)?;
    let who = &oldest.participant;
    let what = match unread.count() {
        1 => format!("{who} has written to you."),
        2 => format!("{who} and one other have written to you."),
        count => format!("{who} and {} others have written to you.", count - 1),
    };
    Some(urgent(
        what,
        "Open the exchange under Messages: opening it tells them that it is read.",
    ))
}

fn warn_of_places(study: &StudyOverview) -> Option<DeskWarning> {
    match study.recruitment {
        RecruitmentState::Paused => Some(notice(
            "Recruitment is paused: new people are asked to come back later.".to_owned(),
            "Open recruitment when you are ready.",
        )),
        RecruitmentState::Closed => Some(notice(
            "Recruitment is closed: new people end at once as study_full.".to_owned(),
            "Stop the study at your recruiter too.",
        )),
        RecruitmentState::Open if study.places.left == Some(0) => Some(notice(
            "All places are taken by people who completed the study or may still do so.".to_owned(),
            "Stop the study at your recruiter, or add places.",
        )),
        RecruitmentState::Open => None,
    }
}

fn warn_of_waits(study: &StudyOverview) -> Vec<DeskWarning> {
    let in_lobby = study.waiting.iter().filter(|it| it.waits_for == "lobby");
    let waiting = in_lobby.clone().count() as u32;
    let playing = study.episodes.iter().flat_map(|episode| &episode.seats);
    let playing = playing.filter(|seat| seat.participant.is_some()).count() as u32;
    let others = study.present.connected.saturating_sub(waiting + playing);
    let long = in_lobby.filter(|it| study.at_us.saturating_sub(it.since_us) > LONG_WAIT_US);
    let warn = |it: &crate::overview::WaitingPerson| {
        let minutes = study.at_us.saturating_sub(it.since_us) / 60_000_000;
        let what = format!(
            "{} has waited for {minutes} minutes at {}, and nobody else is coming.",
            it.participant, it.stage
        );
        notice(
            what,
            "Recruit more people at the same time, let them continue with an AI partner, or end their session with pay.",
        )
    };
    match others {
        0 => long.map(warn).collect(),
        _ => Vec::new(),
    }
}

fn warn_of_networks(study: &StudyOverview) -> Vec<DeskWarning> {
    let seats = study.episodes.iter().flat_map(|episode| {
        let seats = episode.seats.iter();
        seats.filter_map(move |seat| Some((episode, seat, seat.participant.as_ref()?)))
    });
    let bad = seats.filter_map(|(episode, seat, participant)| {
        let is_slow = seat.rtt_us.is_some_and(|rtt_us| rtt_us > SLOW_US);
        let is_lossy = seat.loss_permille.is_some_and(|loss| loss > LOSSY);
        let what = match (is_slow, is_lossy) {
            (true, _) => format!("a round trip of {} ms", seat.rtt_us.unwrap_or(0) / 1_000),
            (false, true) => format!("{} ‰ of packets lost", seat.loss_permille.unwrap_or(0)),
            (false, false) => return None,
        };
        Some(notice(
            format!("The connection of {participant} in {} is bad: {what}.", episode.episode),
            "You need not do anything now. To match only good connections, set `max_p2p_rtt_ms` and `max_loss` of the lobby.",
        ))
    });
    bad.collect()
}

fn warn_of_failures(study: &StudyOverview) -> Option<DeskWarning> {
    let count = |names: &[&str]| {
        let counted = study.outcomes.iter();
        let counted = counted.filter(|it| names.is_empty() || names.contains(&it.outcome));
        counted.map(|it| it.count).sum::<u32>()
    };
    let (failed, all) = (count(&["technical", "page_failed"]), count(&[]));
    let is_much = all >= ENOUGH && failed * 5 >= all;
    is_much.then(|| {
        urgent(
            format!("{failed} of {all} sessions ended for technical reasons."),
            "Pause recruitment, look into the server's log, and run `coplay verify` on the data folder.",
        )
    })
}

fn warn_of_dropouts(stage: &StageFunnel) -> Option<DeskWarning> {
    let reached: u32 = stage.people.iter().map(|people| people.reached).sum();
    let dropped: u32 = stage.people.iter().map(|people| people.dropped).sum();
    let is_much = reached >= ENOUGH && dropped * 3 >= reached;
    is_much.then(|| {
        notice(
            format!(
                "{dropped} of {reached} people dropped out at {}.",
                stage.stage
            ),
            "Watch a session there, and read the outcomes below for the reasons.",
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::overview::{
        ExchangeOverview, OutcomeCount, PlacesOverview, StagePeople, StudyFacts, WaitingPerson,
    };

    use super::*;

    fn study() -> StudyOverview {
        StudyOverview {
            at_us: 1_000_000_000,
            study: StudyFacts {
                id: "s".to_owned(),
                version: "1.0.0".to_owned(),
                title: "S".to_owned(),
                hash: String::new(),
                outcomes: Vec::new(),
            },
            recruitment: RecruitmentState::Open,
            places: PlacesOverview {
                unit: "participant",
                wanted: Some(4),
                left: Some(2),
                is_per_treatment: false,
                cells: Vec::new(),
            },
            stages: Vec::new(),
            waiting: Vec::new(),
            episodes: Vec::new(),
            outcomes: Vec::new(),
            pay: crate::overview::PayOverview::default(),
            present: crate::overview::PresenceCount::default(),
            exchanges: Vec::new(),
            sessions: Vec::new(),
            sessions_in_all: 0,
        }
    }

    fn told(study: &StudyOverview, machine: &MachineState) -> Vec<String> {
        let warnings = list_warnings(study, machine).into_iter();
        warnings.map(|warning| warning.what).collect()
    }

    #[test]
    fn a_quiet_study_on_a_quiet_machine_gives_no_warning() {
        let machine = MachineState {
            disk_free: Some(LITTLE_DISK),
            load: Some(1.0),
            cores: 2,
            ..MachineState::default()
        };
        assert_eq!(told(&study(), &machine), [""; 0]);
    }

    #[test]
    fn who_has_written_and_was_not_read_is_named() {
        let mut study = study();
        let mut write = |participant: &str, unread: u32, since_us: Option<u64>| {
            study.exchanges.push(ExchangeOverview {
                participant: participant.to_owned(),
                messages: 3,
                unread,
                unread_since_us: since_us,
                unread_by_participant: 0,
                last_us: 9,
            });
        };
        write("P-A", 0, None);
        write("P-B", 1, Some(8));
        write("P-C", 2, Some(7));
        let machine = MachineState::default();
        let told = told(&study, &machine);
        assert_eq!(told, ["P-C and one other have written to you."]);
    }

    #[test]
    fn a_machine_without_room_comes_first() {
        let mut paused = study();
        paused.recruitment = RecruitmentState::Paused;
        let machine = MachineState {
            disk_free: Some(20_000_000),
            load: Some(9.5),
            cores: 2,
            ..MachineState::default()
        };
        let told = told(&paused, &machine);
        assert!(told[0].contains("20 MB"), "{told:?}");
        assert!(told.iter().any(|it| it.contains("9.5 on 2")), "{told:?}");
        assert!(told.iter().any(|it| it.contains("paused")), "{told:?}");
    }

    #[test]
    fn who_waits_long_is_named_only_while_nobody_is_on_the_way() {
        let mut study = study();
        study.waiting.push(WaitingPerson {
            participant: "P-A".to_owned(),
            stage: "lobby".to_owned(),
            waits_for: "lobby",
            since_us: study.at_us - 3 * 60_000_000,
            until_us: None,
            state: "here",
            more: 1,
            missing: Vec::new(),
            may_wait_longer: false,
            may_continue_alone: false,
            room: String::new(),
            rooms: Vec::new(),
        });
        study.present.connected = 1;
        let machine = MachineState::default();
        assert!(told(&study, &machine)[0].contains("P-A has waited for 3 minutes"));
        study.present.connected = 2;
        assert_eq!(told(&study, &machine), [""; 0]);
    }

    #[test]
    fn shares_count_once_there_are_enough_people() {
        let mut study = study();
        let people = |reached, dropped| StagePeople {
            reached,
            dropped,
            ..StagePeople::default()
        };
        study.stages.push(StageFunnel {
            stage: "play".to_owned(),
            kind: "env",
            people: vec![people(2, 1), people(2, 2)],
        });
        let outcome = |outcome, count| OutcomeCount {
            outcome,
            treatment: String::new(),
            count,
        };
        study.outcomes = vec![outcome("technical", 1), outcome("completed", 3)];
        let machine = MachineState::default();
        assert_eq!(told(&study, &machine), [""; 0]);
        study.stages[0].people.push(people(2, 0));
        study.outcomes.push(outcome("page_failed", 1));
        let told = told(&study, &machine);
        assert!(told[0].contains("2 of 5 sessions"), "{told:?}");
        assert!(
            told[1].contains("3 of 6 people dropped out at play"),
            "{told:?}"
        );
    }
}
