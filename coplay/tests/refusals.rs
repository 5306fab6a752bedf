//! A refusal by an environment is reported at its place in the study: file, line, column, field, and the fix.

use std::fs;

use catalog::read_study;
use env_core::envs;

/// A study for one with these lines as its environment; the first of them is line 6.
fn refusals(env: &str, lines: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "format: 1\nstudy: {{id: faulty, version: 1.0.0, title: Faulty, contact: lab@example.edu}}\ntimeline:\n  \
         - id: play\n    type: env\n    env: {env}\n{lines}  - {{id: thanks, type: end, file: thanks.md}}\n"
    );
    fs::write(dir.path().join("study.yaml"), text).unwrap();
    fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
    match read_study(dir.path()) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// An environment as a study names it.
fn named(id: &str) -> String {
    format!("{id}@{}", envs::open(id, "").unwrap().spec().version)
}

fn refusal(env: &str, lines: &str) -> String {
    let mut found = refusals(env, lines);
    assert_eq!(found.len(), 1, "{lines}: {found:#?}");
    found.remove(0)
}

fn assert_refused(env: &str, cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        let said = refusal(env, lines);
        assert!(
            said.starts_with(expected),
            "{lines}\nis refused with\n  {said}\ninstead of\n  {expected}"
        );
    }
}

#[test]
fn the_study_that_the_faults_are_seeded_into_is_good() {
    for lines in ["", "config: {seats: 1}\nplayers: [self]"] {
        let found = refusals(&named("goal_finding"), lines);
        let seats = found.iter().all(|problem| problem.contains(".players: "));
        assert!(
            seats && (found.is_empty() || lines.is_empty()),
            "{found:#?}"
        );
    }
}

#[test]
fn an_illegal_layout_is_refused_at_its_row() {
    assert_refused(
        &named("goal_finding"),
        &[
            (
                "config:\n  layout:\n    - '####'\n    - '#+?#'\n    - '####'",
                "study.yaml:10:11: timeline[0].config.layout[1]: row 2, column 3: no kind has the symbol `?`; \
                 there is: `g` goal, `#` wall",
            ),
            (
                "config:\n  layout:\n    - '####'\n    - '#G#'",
                "study.yaml:10:11: timeline[0].config.layout[1]: row 2 has 3 symbols and row 1 has 4: \
                 make them equally long",
            ),
            (
                "config:\n  layout: [G++]",
                "study.yaml:8:16: timeline[0].config.layout[0]: row 1, column 1: no kind has the symbol `G`; \
                 did you mean `g` (goal)",
            ),
            (
                "config:\n  layout: smiple",
                "study.yaml:8:7: timeline[0].config.layout: there is no layout `smiple`; did you mean `simple`?",
            ),
        ],
    );
}

#[test]
fn more_seats_than_free_cells_are_refused() {
    assert_refused(
        &named("goal_finding"),
        &[
            (
                "config: {seats: 3, layout: ['+g+']}",
                "study.yaml:7:24: timeline[0].config.layout: has 2 free cells, and there are 3 seats: \
                 make room, or take fewer seats",
            ),
            (
                "config: {seats: 17}",
                "study.yaml:7:14: timeline[0].config.seats: must be 1 to 16",
            ),
        ],
    );
}

#[test]
fn an_unknown_feature_is_refused_at_its_place_in_the_list() {
    assert_refused(
        &named("overcooked"),
        &[
            (
                "config:\n  features:\n    - agent_dir\n    - agent_positon",
                "study.yaml:10:11: timeline[0].config.features[1]: there is no feature `agent_positon`; \
                 did you mean `agent_position`?",
            ),
            (
                "config:\n  features: [agent_dir, agent_dir]",
                "study.yaml:8:29: timeline[0].config.features[1]: `agent_dir` is there twice: take one out",
            ),
        ],
    );
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    assert_refused(
        &named("overcooked"),
        &[
            (
                "config:\n  rules: cogrid-0.3.2\n  cook_time: 5",
                "study.yaml:9:7: timeline[0].config.cook_time: is 30 steps by the rules of CoGrid",
            ),
            (
                "config:\n  view_radius: 2",
                "study.yaml:8:7: timeline[0].config.view_radius: is of no use without the feature `local_view`",
            ),
            (
                "config:\n  rewards:\n    - {kind: delivery, worth: 20}\n    - {kind: order_delivery, worth: 20}",
                "study.yaml:10:11: timeline[0].config.rewards[1]: `order_delivery` is paid for orders, and there are none",
            ),
            (
                "config:\n  orders: {max_active: 9, time_limit: 100, spawn: {onion_soup: 0.1}}",
                "study.yaml:8:16: timeline[0].config.orders.max_active: must be 1 to 8",
            ),
        ],
    );
}

#[test]
fn an_unknown_parameter_or_choice_is_refused_with_the_nearest() {
    assert_refused(
        &named("overcooked"),
        &[
            (
                "config:\n  layuot: cramped_room",
                "study.yaml:8:7: timeline[0].config.layuot: there is no parameter `layuot`; did you mean `layout`?",
            ),
            (
                "config:\n  rules: corected",
                "study.yaml:8:7: timeline[0].config.rules: there is no choice `corected`; did you mean `corrected`?",
            ),
            (
                "config:\n  horizon: long",
                "study.yaml:8:7: timeline[0].config.horizon: expected a whole number, 0 or more, found `long`",
            ),
            (
                "for_each: {kitchen: [cramped_room, moon]}\nconfig:\n  layout: '{{ kitchen }}'\nplayers: [self, vacant]",
                "study.yaml:7:40: timeline[0].for_each.kitchen[1]: there is no layout `moon`",
            ),
            (
                "for_each: {kitchen: [cramped_room, coordination_ring]}\nconfig:\n  layout: '{{ kitchen }}'\n  horizon: sixty",
                "study.yaml:10:7: timeline[0].config.horizon: expected a whole number, 0 or more, found `sixty`",
            ),
            (
                "config:\n  rewards:\n    - {kind: delivry, worth: 20}",
                "study.yaml:9:12: timeline[0].config.rewards[0].kind: there is no choice `delivry`; did you mean `delivery`?",
            ),
            (
                "config:\n  orders: {max_active: 2, time_limit: 100, spwan: {}}",
                "study.yaml:8:48: timeline[0].config.orders.spwan: there is no parameter `spwan`; did you mean `spawn`?",
            ),
        ],
    );
}

#[test]
fn a_partner_that_cannot_play_the_stage_that_follows_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
    let problems = |env: &str, policy: &str| {
        let text = format!(
            "format: 1\nstudy: {{id: faulty, version: 1.0.0, title: Faulty, contact: lab@example.edu}}\ntimeline:\n  \
             - id: lobby\n    type: lobby\n    group_size: 2\n    timeout_s: 60\n    on_timeout: bot\n    \
             bot: {{policy: {policy}}}\n  \
             - {{id: play, type: env, env: {env}, players: [self, partner]}}\n  \
             - {{id: thanks, type: end, file: thanks.md}}\n"
        );
        fs::write(dir.path().join("study.yaml"), text).unwrap();
        match read_study(dir.path()) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        }
    };
    let refused = problems(&named("goal_finding"), "cook");
    assert_eq!(
        refused,
        [
            "study.yaml:9:11: timeline[0].bot.policy: `cook` cannot play `goal_finding`, the environment that follows; \
             take one that can: idle, random"
        ]
    );
    assert_eq!(problems(&named("goal_finding"), "idle"), [""; 0]);
    assert_eq!(problems(&named("overcooked"), "cook"), [""; 0]);
}

#[test]
fn an_unknown_environment_is_refused_with_the_nearest() {
    let said = refusal("overcookd@1.0.0", "");
    let nearest = format!("did you mean `{}`?", named("overcooked"));
    assert!(
        said.starts_with("study.yaml:6:5: timeline[0].env: unknown environment `overcookd`"),
        "{said}"
    );
    assert!(said.contains(&nearest), "{said}");
}

#[test]
fn more_players_than_the_environment_has_seats_are_refused_with_the_mend() {
    let dir = tempfile::tempdir().unwrap();
    let env = named("overcooked");
    let text = format!(
        "format: 1\nstudy: {{id: faulty, version: 1.0.0, title: Faulty, contact: lab@example.edu}}\ntimeline:\n  \
         - {{id: lobby, type: lobby, group_size: 3, timeout_s: 60, on_timeout: wait}}\n  \
         - {{id: play, type: env, env: {env}, players: [self, partner, partner]}}\n  \
         - {{id: thanks, type: end, file: thanks.md}}\n"
    );
    fs::write(dir.path().join("study.yaml"), text).unwrap();
    fs::write(dir.path().join("thanks.md"), "# Thanks\n").unwrap();
    let problems = read_study(dir.path()).unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(
        said[0].contains("timeline[1].players: 3 players here, but")
            && said[0].contains("has 2 seats"),
        "{said:#?}"
    );
}
