//! Data that are past their period stay, because nobody visits the server.

use std::time::Duration;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::messages::{Answer, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "retention-unvisited";
pub(crate) const TRIES: &str = "A server starts after the period of retention, and nobody visits it.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let days = variant.choose("days of retention", &[2, 10, 30]);
    let late = variant.draw("days late", 1, 3) as i64;
    let secret = format!("retained-{:016x}", variant.bits());
    let mut study = Study::questions();
    study.about = format!("  retention_days: {days}\n");
    world.serve(&study, &[]).await?;
    let mut page = world.attacker().await?;
    let (stage, _) = page.await_stage(|_| true).await?;
    let answer = Answer {
        name: "why".to_owned(),
        value: format!("\"{secret}\""),
    };
    page.finish(stage, vec![answer]).await?;
    page.await_stage(|view| matches!(view, StageView::End { .. })).await?;
    drop(page);
    world.stop().await?;
    world.set_clock((days + late) * 86_400);
    world.start(&[]).await?;
    let mut left = 1;
    for _ in 0..100 {
        left = world.query("SELECT item FROM answers", "").await?.len();
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let logged = world.logged().to_lowercase();
    let is_logged = logged.contains("eras") || logged.contains("retention");
    let seen = format!("10 s after the start, {left} answer is left; the log tells of the erasure: {is_logged}");
    Ok(Observed::broken_if(left > 0 || !is_logged, seen))
}
