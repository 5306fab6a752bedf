use super::*;
use crate::formula::{Formula, Type, Types};

fn find(source: &str) -> FormulaBounds {
    let episode = Type::record([("score", Type::Number), ("ticks", Type::Number)]);
    let types = Types::from([
        ("base".to_owned(), Type::Number),
        ("arm".to_owned(), Type::Text),
        ("late".to_owned(), Type::Number),
        (
            "asked".to_owned(),
            Type::record([("age", Type::Number), ("sure", Type::Number)]),
        ),
        (
            "play".to_owned(),
            Type::record([("episodes", Type::list(episode))]),
        ),
    ]);
    let episode = Possible::record([
        ("score", Possible::Number(Bounds::ALL)),
        ("ticks", Possible::Number(Bounds::new(0.0, 900.0))),
    ]);
    let episodes = Possible::List(Box::new(episode), Bounds::new(0.0, 3.0));
    let variables = BTreeMap::from([
        ("base".to_owned(), Possible::number(4.5)),
        ("arm".to_owned(), Possible::Text("high".to_owned())),
        ("late".to_owned(), Possible::number(2.0).unsure()),
        (
            "asked".to_owned(),
            Possible::record([
                ("age", Possible::number(30.0).unsure()),
                ("sure", Possible::number(1.0)),
            ]),
        ),
        (
            "play".to_owned(),
            Possible::record([("episodes", episodes)]),
        ),
    ]);
    find_bounds(Formula::known(source, &types).expr(), &variables)
}

fn bounds(source: &str) -> (f64, f64) {
    let found = find(source).bounds;
    (found.least, found.most)
}

#[test]
fn a_clamp_bounds_what_has_no_bounds() {
    let scores = "sum(play.episodes.map(e, e.score))";
    assert_eq!(bounds(scores), (f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(
        bounds(&format!("round2(clamp(0.02 * {scores}, 0.0, 5.0))")),
        (0.0, 5.0)
    );
    assert_eq!(
        bounds(&format!("base + min(2, max(0, {scores}))")),
        (4.5, 6.5)
    );
}

#[test]
fn lists_are_as_long_as_there_are_episodes() {
    assert_eq!(bounds("size(play.episodes)"), (0.0, 3.0));
    assert_eq!(bounds("sum(play.episodes.map(e, e.ticks))"), (0.0, 2_700.0));
    assert_eq!(
        bounds("max(play.episodes.map(e, e.ticks)) - 900"),
        (-900.0, 0.0)
    );
    assert_eq!(
        bounds("size(play.episodes.filter(e, e.score > 3)) * 0.5"),
        (0.0, 1.5)
    );
}

#[test]
fn of_a_choice_by_the_arm_only_its_side_counts() {
    assert_eq!(bounds("arm == \"high\" ? 2 : 10"), (2.0, 2.0));
    assert_eq!(bounds("base > 4 && arm != \"low\" ? 1 : 10"), (1.0, 1.0));
    assert_eq!(bounds("size(play.episodes) > 1 ? 1 : 10"), (1.0, 10.0));
    assert_eq!(bounds("10 / (size(play.episodes) + 1)"), (2.5, 10.0));
    assert_eq!(
        bounds("1 / size(play.episodes)"),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert_eq!(bounds("-abs(size(play.episodes) - 2)"), (-2.0, 0.0));
}

#[test]
fn limits_of_a_clamp_may_vary() {
    let count = "size(play.episodes)";
    assert_eq!(bounds(&format!("clamp(3, 0, {count})")), (0.0, 3.0));
    assert_eq!(bounds(&format!("clamp(1, {count}, 5)")), (1.0, 3.0));
    assert_eq!(bounds(&format!("clamp(7, 0, 5 - {count})")), (2.0, 5.0));
    assert!(!find("clamp(3, 0, size(play.episodes))").may_fail);
    assert!(find("clamp(3, 1, size(play.episodes))").may_fail);
}

#[test]
fn what_may_have_no_value_is_known() {
    for source in [
        "1 / size(play.episodes)",
        "mean(play.episodes.map(e, e.ticks))",
        "max(play.episodes.map(e, e.ticks))",
        "play.episodes[0].ticks",
        "late",
        "late > 1 && base > 1 ? 1 : 2",
        "asked.age",
        "size(play.episodes) % 2",
        "play.episodes.exists(e, e.ticks / e.ticks > 0) ? 1 : 2",
    ] {
        assert!(find(source).may_fail, "{source}");
    }
    for source in [
        "base / 2",
        "asked.sure",
        "size(play.episodes) > 0 ? mean(play.episodes.map(e, e.ticks)) : 1",
        "1 <= size(play.episodes) && max(play.episodes.map(e, e.ticks)) > 3 ? 1 : 2",
        "has(asked.age) ? asked.age : 18",
        "has(asked.age) && asked.age > 17 ? 1 : 2",
        "late > 1 && base > 9 ? 1 : 2",
        "late > 1 || base > 1 ? 1 : 2",
        "sum(play.episodes.map(e, e.ticks)) / 3",
        "[1, 2, 3][2]",
    ] {
        assert!(!find(source).may_fail, "{source}");
    }
}

#[test]
fn sums_are_bounded_as_they_are_added_up() {
    let (least, most) = bounds("sum(play.episodes.map(e, 0.1))");
    assert_eq!((least, most), (0.0, 0.1 + 0.1 + 0.1));
    assert_eq!(bounds("mean([1, 2, 6])"), (3.0, 3.0));
    assert_eq!(bounds("round2(1.005)"), (1.0, 1.0));
}
