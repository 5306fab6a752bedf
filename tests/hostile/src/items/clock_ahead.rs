//! A clock that is years ahead makes the server erase everything: immediately, or later because of times that were
//! stored meanwhile.

use std::time::Duration;

use tokio::time::sleep;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::messages::{Answer, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "clock-ahead";
pub(crate) const TRIES: &str =
    "The machine's clock is years ahead for a while, and the study erases old data.";

/// A year, seconds.
const YEAR_S: i64 = 31_557_600;

/// The time within which the server checks what is due.
const LOOKS: Duration = Duration::from_secs(2);

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let years = variant.choose("years ahead", &[5, 20, 80]);
    let days = variant.choose("days of retention", &[1, 30, 365]);
    let when = variant.choose("ahead", &["at a restart", "while it runs"]);
    let then = variant.choose("at the next start", &["right again", "still ahead", "right again, then ahead"]);
    let visits = variant.choose("meanwhile", &["a visit", "only a stop"]);
    let mut study = Study::questions();
    study.about = format!("  retention_days: {days}\n");
    world.serve(&study, &[]).await?;
    let mut page = world.attacker().await?;
    let (stage, _) = page.await_stage(|_| true).await?;
    let answer = Answer {
        name: "why".to_owned(),
        value: "\"because\"".to_owned(),
    };
    page.finish(stage, vec![answer]).await?;
    page.await_stage(|view| matches!(view, StageView::End { .. })).await?;
    drop(page);
    let ahead_s = years * YEAR_S;
    if when == "at a restart" {
        world.stop().await?;
        world.set_clock(ahead_s);
        world.start(&[]).await?;
    } else {
        world.leap(Duration::from_secs(ahead_s as u64)).await?;
    }
    let mut left = Vec::new();
    if visits == "a visit" {
        visit(world).await?;
    }
    world.stop().await?;
    left.push(count(world).await?);
    let clocks: &[i64] = match then {
        "right again" => &[0],
        "still ahead" => &[ahead_s],
        _ => &[0, ahead_s],
    };
    for clock in clocks {
        world.set_clock(*clock);
        world.start(&[]).await?;
        visit(world).await?;
        world.stop().await?;
        left.push(count(world).await?);
    }
    let seen = format!("of one answer given today, left after each stop of the server: {left:?}");
    Ok(Observed::broken_if(left.contains(&0), seen))
}

/// Lets somebody come, so that the server checks what is due.
async fn visit(world: &mut World) -> anyhow::Result<()> {
    let page = world.attacker().await;
    sleep(LOOKS).await;
    drop(page);
    Ok(())
}

/// The answers that are left.
async fn count(world: &World) -> anyhow::Result<usize> {
    let answers = world.query("SELECT item FROM answers WHERE value LIKE '%because%'", "").await?;
    Ok(answers.len())
}
