//! Checks that nobody was turned away before the study was full.

use std::collections::BTreeMap;

use study::assign::{self, Counts, Standing};
use study::design::{Design, Unit};
use study::{Assignment, Outcome, UnitAssignment};

use store::{Group, Session};

/// Finds participants who were turned away while places were left, by the largest possible count at that time: every
/// unit that had completed the study or could still do so. A group in which an AI partner played for somebody who had
/// come does not count. The server keeps no data of some people, because they left before they began: it is not known
/// when they were there.
pub(super) fn turned_away(
    design: &Design,
    sessions: &[&Session],
    forgotten: usize,
    groups: &[Group],
    drawn: &BTreeMap<String, Assignment>,
) -> Vec<(String, String)> {
    let is_away =
        |session: &&&Session| session.outcome.as_deref() == Some(Outcome::StudyFull.name());
    let away = sessions.iter().filter(is_away);
    let unjust = away.filter_map(|away| {
        // Also who passed the first stage may find that the places are taken by now.
        let at = away.ended_at.as_deref().unwrap_or(&away.created_at);
        // Those who were turned away later were on their way.
        let is_there = |session: &&&Session| !is_away(session) || is_open_after(session, at);
        let before: Vec<&Session> = (sessions.iter())
            .filter(|session| is_there(session) && session.created_at.as_str() <= at)
            .copied()
            .collect();
        let own = &design.of(design.unit);
        let (counts, coming) = match design.unit {
            Unit::Participant => (people(own, &before, drawn, at), forgotten),
            Unit::Group => whole(own, &before, forgotten, groups, at),
        };
        let left = assign::places_left(design, &counts)?;
        (left as usize > coming).then(|| {
            let why = format!("was turned away, and {left} places were left, {coming} of them for those on their way");
            (away.participant.clone(), why)
        })
    });
    unjust.collect()
}

/// The seed of a group's random assignment.
pub(super) fn seed(group: &Group) -> u64 {
    draw(group).seed
}

fn draw(group: &Group) -> UnitAssignment {
    serde_json::from_str(&group.draw).unwrap_or_default()
}

/// Returns true if a session had not ended by a time.
fn is_open(session: &Session, at: &str) -> bool {
    session.ended_at.as_deref().is_none_or(|ended| ended >= at)
}

/// Returns true if a session ended later than at a time, or not at all.
fn is_open_after(session: &Session, at: &str) -> bool {
    session.ended_at.as_deref().is_none_or(|ended| ended > at)
}

/// Returns true if a session had completed the study by a time, or could still do so.
fn counts(session: &Session, at: &str) -> bool {
    is_open(session, at) || session.outcome.as_deref() == Some(Outcome::Completed.name())
}

fn people(
    design: &Design,
    before: &[&Session],
    drawn: &BTreeMap<String, Assignment>,
    at: &str,
) -> Counts {
    let mut all = Counts::default();
    for session in before.iter().filter(|session| counts(session, at)) {
        if let Some(assignment) = drawn.get(&session.participant) {
            all.add(design, &assignment.own, Standing::Completed);
        }
    }
    all
}

/// Complete groups of people, and how many more groups the people without a group can form.
fn whole(
    design: &Design,
    before: &[&Session],
    forgotten: usize,
    groups: &[Group],
    at: &str,
) -> (Counts, usize) {
    let by_name: BTreeMap<&str, &&Session> = before
        .iter()
        .map(|session| (session.participant.as_str(), session))
        .collect();
    let (mut all, mut grouped) = (Counts::default(), Vec::new());
    let mut size = 1;
    for group in groups.iter().filter(|group| group.size > 1) {
        size = size.max(usize::from(group.size));
        let members = group.members.iter();
        let members: Option<Vec<_>> = members
            .map(|member| by_name.get(member.participant.as_str()))
            .collect();
        let Some(members) = members else { continue };
        let is_over = !members.iter().any(|session| is_open(session, at));
        // The time at which an AI partner took a place is known only if all is over.
        let had_ai = group.is_replaced() && is_over;
        if !had_ai && members.iter().all(|session| counts(session, at)) {
            all.add(design, &draw(group), Standing::Completed);
            grouped.extend(
                group
                    .members
                    .iter()
                    .map(|member| member.participant.as_str()),
            );
        }
    }
    let open = before.iter().filter(|session| is_open(session, at));
    let alone = open.filter(|session| !grouped.contains(&session.participant.as_str()));
    (all, (alone.count() + forgotten) / size)
}

#[cfg(test)]
mod tests {
    use study::design::Quota;

    use super::*;
    use store::Member;

    /// A session that began at a second, and how and when it ended.
    fn session(name: &str, came_s: u32, ended: Option<(Outcome, u32)>) -> Session {
        let at = |s: u32| format!("2026-01-01T00:00:{s:02}.000Z");
        Session {
            id: format!("S-{name}"),
            number: 0,
            participant: name.to_owned(),
            token_hash: String::new(),
            link_hash: None,
            study: String::new(),
            study_version: String::new(),
            study_hash: String::new(),
            position: String::new(),
            spent_us: 0,
            seen_us: 0,
            acted_us: 0,
            outcome: ended.map(|(outcome, _)| outcome.name().to_owned()),
            created_at: at(came_s),
            ended_at: ended.map(|(_, s)| at(s)),
            erased_at: None,
        }
    }

    fn group(seed: u64, has_ai: bool, people: &[&str]) -> Group {
        let draw = UnitAssignment {
            seed,
            ..UnitAssignment::default()
        };
        let member = |(place, name): (usize, &&str)| Member {
            place: place as u8,
            participant: (*name).to_owned(),
            gone: None,
        };
        Group {
            id: format!("G-{seed}"),
            stage: "lobby".to_owned(),
            draw: serde_json::to_string(&draw).unwrap(),
            size: 2,
            has_ai,
            chat: None,
            wait: None,
            members: people.iter().enumerate().map(member).collect(),
        }
    }

    #[test]
    fn who_is_turned_away_for_groups_in_which_an_ai_partner_took_a_place_is_found() {
        let design = Design {
            unit: Unit::Group,
            quota: Quota::Total(1),
            ..Design::default()
        };
        let done = Some((Outcome::Completed, 20));
        let all = [
            session("a", 1, done),
            session("b", 2, done),
            session("late", 30, Some((Outcome::StudyFull, 30))),
        ];
        let away = |groups: &[Group], forgotten| {
            let sessions: Vec<&Session> = all.iter().collect();
            turned_away(&design, &sessions, forgotten, groups, &BTreeMap::new())
        };
        assert_eq!(away(&[group(1, false, &["a", "b"])], 0), []);
        // The AI partner of a lobby belongs to the group.
        assert_eq!(away(&[group(1, true, &["a"])], 0), []);
        let replaced = group(1, true, &["a", "b"]);
        assert_eq!(away(std::slice::from_ref(&replaced), 2), []);
        for forgotten in [0, 1] {
            let away = away(std::slice::from_ref(&replaced), forgotten);
            assert!(away.len() == 1 && away[0].0 == "late", "{away:?}");
        }
    }

    #[test]
    fn those_who_were_turned_away_later_were_on_their_way() {
        let design = Design {
            unit: Unit::Group,
            quota: Quota::Total(1),
            ..Design::default()
        };
        let replaced = [group(1, true, &["a", "b"])];
        let away = |turned_s| {
            let full = Some((Outcome::StudyFull, turned_s));
            let all = [
                session("a", 1, Some((Outcome::Completed, 20))),
                session("b", 2, Some((Outcome::Completed, 20))),
                session("c", 25, full),
                session("d", 25, full),
                session("late", 30, Some((Outcome::StudyFull, 30))),
            ];
            let sessions: Vec<&Session> = all.iter().collect();
            let away = turned_away(&design, &sessions, 0, &replaced, &BTreeMap::new());
            away.into_iter().any(|(who, _)| who == "late")
        };
        assert!(!away(40));
        assert!(away(25));
    }

    #[test]
    fn those_who_left_count_for_no_quota_and_those_under_way_do() {
        let design = Design {
            quota: Quota::Total(1),
            ..Design::default()
        };
        let away = |before: Session| {
            let late = session("late", 30, Some((Outcome::StudyFull, 30)));
            let drawn = BTreeMap::from([("a".to_owned(), Assignment::default())]);
            turned_away(&design, &[&before, &late], 0, &[], &drawn).len()
        };
        assert_eq!(away(session("a", 1, None)), 0);
        assert_eq!(away(session("a", 1, Some((Outcome::Completed, 5)))), 0);
        assert_eq!(away(session("a", 1, Some((Outcome::Withdrew, 40)))), 0);
        assert_eq!(away(session("a", 1, Some((Outcome::Withdrew, 5)))), 1);
    }
}
