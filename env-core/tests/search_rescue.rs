//! Search and rescue by both sets of rules: the fixes of the corrected ones, and a playthrough by each.

use env_core::envs::search_rescue::{GENERATED, Params, Rewards, Role, SearchRescue, World};
use env_core::grid::{Chart, RuleSet};
use env_core::{Environment, StepOutcome};

use crate::story;

const BOTH: [RuleSet; 2] = [RuleSet::Cogrid, RuleSet::Corrected];

/// A corridor with agents at both ends, and the course of an episode in it.
struct Corridor {
    env: SearchRescue,
    state: <SearchRescue as Environment>::State,
    outcome: StepOutcome,
}

impl Corridor {
    fn new(rules: RuleSet, row: &str, change: impl FnOnce(&mut Params)) -> Self {
        let wall = "#".repeat(row.len());
        let mut params = Params {
            rules,
            layout: Chart::Rows(vec![wall.clone(), row.into(), wall]),
            ..Params::default()
        };
        change(&mut params);
        let env = SearchRescue::new(params).unwrap();
        let state = env.reset(0);
        Self {
            env,
            state,
            outcome: StepOutcome::default(),
        }
    }

    /// Plays rows of signs, and returns the sum that each seat earned.
    fn play(&mut self, play: &[&str]) -> Vec<f32> {
        let mut sums = vec![0.0; play.len()];
        for step in 0..play[0].len() {
            self.env.step(
                &mut self.state,
                &story::actions(play, step),
                &mut self.outcome,
            );
            sums.iter_mut()
                .zip(self.outcome.rewards)
                .for_each(|(sum, reward)| *sum += reward);
        }
        sums
    }

    /// The corridor, agents left out.
    fn row(&self) -> String {
        let tables = self.env.tables();
        let kinds = self.state.kinds(tables)[tables.cols..2 * tables.cols].iter();
        kinds
            .map(|&kind| {
                tables
                    .kind(kind)
                    .and_then(|kind| kind.symbol)
                    .unwrap_or(' ')
            })
            .collect()
    }
}

#[test]
fn victims_are_rescued() {
    for (row, play, worth) in [
        ("#+G  +#", "t", 1.0),
        ("#+P  +#", "t", 2.0),
        ("#+MY +#", "x>>t", 3.0),
    ] {
        for rules in BOTH {
            let mut corridor = Corridor::new(rules, row, |_| ());
            let wait = ".".repeat(play.len() + 1);
            let play = format!(">{play}");
            let earned = corridor.play(&[&play, &wait]);
            if rules == RuleSet::Corrected {
                assert_eq!(earned, [worth; 2], "{row}");
                assert!(corridor.outcome.over, "nobody is left");
            } else {
                assert_eq!((earned[0], corridor.outcome.terminated), (0.0, 0), "{row}");
            }
        }
    }
}

#[test]
fn a_yellow_victim_takes_a_medkit_or_a_medic() {
    let mut plain = Corridor::new(RuleSet::Corrected, "#+Y  +#", |_| ());
    assert_eq!(plain.play(&[">tt", "..."]), [0.0; 2]);
    let mut medic = Corridor::new(RuleSet::Corrected, "#+Y  +#", |params| {
        params.roles = vec![Role::Medic]
    });
    assert_eq!(medic.play(&[">tt", "..."]), [3.0; 2]);
}

#[test]
fn a_red_victim_takes_two_agents_in_time() {
    let alone = |time| {
        let mut corridor = Corridor::new(RuleSet::Corrected, "#+R+ G#", |params| {
            params.help_time = time;
            params.rewards = Rewards {
                common: false,
                ..Rewards::default()
            };
        });
        let sums = corridor.play(&[">tt......", "..<.....t"]);
        (sums, corridor.row())
    };
    assert_eq!(alone(5), (vec![0.0; 2], "# R  G#".into()));
    // Both are paid, regardless of who came first.
    assert_eq!(alone(6), (vec![5.0; 2], "#    G#".into()));
}

#[test]
fn rubble_takes_a_pickaxe_or_an_engineer() {
    let mut tool = Corridor::new(RuleSet::Corrected, "#+TX +#", |params| {
        params.layout = Chart::Rows(["#######", "#+TXG+#", "#######"].map(Into::into).into())
    });
    tool.play(&[">x>t", "...."]);
    assert_eq!(tool.row(), "#   G #");
    let mut engineer = Corridor::new(RuleSet::Corrected, "#+XG +#", |params| {
        params.roles = vec![Role::Engineer]
    });
    engineer.play(&[">t", ".."]);
    assert_eq!(engineer.row(), "#  G  #");
    let mut cogrid = Corridor::new(RuleSet::Cogrid, "#+TXG+#", |_| ());
    cogrid.play(&[">x>tt", "....."]);
    assert_eq!(cogrid.row(), "#  XG #");
}

#[test]
fn a_key_opens_a_door() {
    let [cogrid, corrected] = BOTH.map(|rules| {
        let mut corridor = Corridor::new(rules, "#+KD G +#", |_| ());
        corridor.play(&[">x>t>>", "......"]);
        (corridor.row(), corridor.state.agents[0].cell - 9)
    });
    assert_eq!(cogrid, ("#  D G  #".into(), 2));
    assert_eq!(corrected, ("#  / G  #".into(), 4));
    // What is not locked needs no key, and can be shut again.
    let mut closed = Corridor::new(RuleSet::Corrected, "#+d G +#", |_| ());
    closed.play(&[">t", ".."]);
    assert_eq!(closed.row(), "# / G  #");
    closed.play(&["t", "."]);
    assert_eq!(closed.row(), "# d G  #");
}

#[test]
fn generated_maps_can_be_played() {
    let env = SearchRescue::new(Params {
        layout: Chart::named(GENERATED),
        seats: 3,
        ..Params::default()
    })
    .unwrap();
    let mut maps = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let state = env.reset(seed);
        let kinds = state.kinds(env.tables());
        let count = |name: &str| {
            let kind = env.tables().id(name).unwrap();
            kinds.iter().filter(|&&other| other == kind).count()
        };
        assert_eq!(
            [
                "green_victim",
                "yellow_victim",
                "red_victim",
                "medkit",
                "pickaxe"
            ]
            .map(count),
            [4, 3, 2, 1, 1]
        );
        maps.insert(kinds.to_vec());
    }
    assert_eq!(maps.len(), 50);
}

#[test]
fn bad_parameters_are_refused_with_their_place() {
    let refused = |json: &str| {
        env_core::envs::build_environment::<SearchRescue>(json.as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(
        refused(r#"{"roles":["medic","medic","medic"]}"#).starts_with("roles: 3 roles for 2 seats")
    );
    assert!(refused(r#"{"roles":["doctor"]}"#).contains("doctor"));
    assert!(
        refused(r#"{"layout":"generated","map":{"rows":2}}"#)
            .starts_with("map.rows: rows and columns must be 3 to 64")
    );
    assert!(
        refused(r#"{"layout":"generated","map":{"rows":5,"cols":5}}"#).contains("make more room")
    );
    assert!(
        refused(r#"{"layout":"generated","rules":"cogrid-0.3.2"}"#)
            .starts_with("layout: CoGrid 0.3.2 generates none")
    );
}

#[test]
fn playthroughs_are_as_recorded() {
    let told = BOTH.map(|rules| {
        let params = Params {
            rules,
            horizon: 24,
            ..Params::default()
        };
        story::tell::<World>(
            params,
            7,
            &["vvvvvxvvtvvt............", ">>>>>>vvvt.............."],
        )
    });
    story::check("search_rescue", &told.join("\n"));
}
