//! A page that says just enough not to be silent: its partner's game takes hours.

use std::time::Duration;

use crate::aftermath::{OwnInputs, judge};
use crate::conduct::{Manners, Words};
use crate::deeds::Simulates;
use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::world::World;

pub(crate) const NAME: &str = "trickled-inputs";
pub(crate) const TRIES: &str =
    "A page says one input from time to time, or only connects again, so that its partner's game never ends.";

/// How it is heard from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// It tells the server some inputs.
    Inputs(u32),
    /// It comes back over a new connection, and says no input.
    NewConnection,
    /// Both.
    InputAndConnection,
}

/// How often it gives a sign at least.
const TIMES: u32 = 24;

/// The least time that it continues, milliseconds. The game takes ten seconds; the server takes the seat of a page that
/// only connects again after 30 s, and what the study grants.
const LASTS_MS: u64 = 45_000;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let signs = [
        Sign::Inputs(1),
        Sign::NewConnection,
        Sign::InputAndConnection,
        Sign::Inputs(2),
    ];
    let sign = variant.choose("sign", &signs);
    let each_ms = variant.choose("each ms", &[2_600, 1_500, 2_000]);
    let hears = variant.choose("partner hears", &["everything", "no inputs", "nothing"]);
    let tick_hz = variant.choose("ticks per second", &[10, 20, 30]);
    world
        .serve(&Study::pair(10 * tick_hz, tick_hz), &[])
        .await?;
    let page = world.attacker().await?;
    let victim = world.victim("bot").await?;
    let mut player = Player::await_start(page).await?;
    let (mut columns, _) = player.invent("cook")?;
    player.skill = columns.swap_remove(player.me());
    player
        .run_until(Duration::from_secs(30), |player| player.durable >= tick_hz)
        .await?;
    let said = player.chain.next;
    player.words = Words {
        until: said,
        each: 1,
        ..Words::HONEST
    };
    player.manners = Manners {
        sends: hears != "nothing",
        says_inputs: hears == "everything",
        ..Manners::HONEST
    };
    let is_out = |player: &Player| {
        player.is_closed || player.ended.is_some() || player.end.is_some() || !player.is_seated()
    };
    let most = TIMES.max(LASTS_MS.div_ceil(each_ms) as u32);
    let mut times = 0;
    while times < most && !is_out(&player) && !victim.is_over() {
        times += 1;
        player
            .run_while(Duration::from_millis(each_ms), |player| !is_out(player))
            .await?;
        match sign {
            Sign::Inputs(more) => player.words.until += more,
            Sign::NewConnection => {}
            Sign::InputAndConnection => player.words.until += 1,
        }
        if !matches!(sign, Sign::Inputs(_)) && !is_out(&player) {
            player
                .come_again(&world.address(), Simulates::Still)
                .await?;
        }
    }
    let lasted_s = u64::from(times) * each_ms / 1_000;
    let seen = format!(
        "it gave {times} signs in {lasted_s} s; it has its seat: {}",
        player.is_seated()
    );
    let is_held = times >= most && !victim.is_over();
    // What it told its partner and not the server is its own affair.
    match judge(world, victim, player, OwnInputs::Any, &seen).await? {
        Observed::Held(seen) => Ok(Observed::broken_if(is_held, seen)),
        broken => Ok(broken),
    }
}
