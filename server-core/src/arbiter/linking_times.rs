//! The times that pages of people took from their match to the start, so that an episode with an AI partner that is not
//! disclosed starts equally late.

use std::collections::VecDeque;

use study::assign::Rng;

/// The most starts that are remembered; the oldest are forgotten.
const MOST: usize = 64;
/// The number of starts from which on they count as usual here.
const ENOUGH: usize = 5;
/// The time that pages of people take to connect if nothing was measured, after one page is ready, microseconds:
/// minimum and maximum.
const USUAL_US: (u64, u64) = (300_000, 1_500_000);

/// The times of the latest starts with several people.
#[derive(Debug, Default)]
pub(super) struct LinkingTimes {
    took_us: VecDeque<u64>,
}

impl LinkingTimes {
    /// Notes an episode of several people whose last page got ready this long after the match.
    pub(super) fn add_time(&mut self, took_us: u64) {
        self.took_us.push_back(took_us);
        if self.took_us.len() > MOST {
            self.took_us.pop_front();
        }
    }

    /// Returns the further wait of an episode with one person whose page got ready this long after the match. One of
    /// the latest starts of several people is drawn as its end, so the median and the spread are theirs.
    pub(super) fn draw_delay_us(&self, took_us: u64, rng: &mut Rng) -> u64 {
        if self.took_us.len() < ENOUGH {
            let (least, most) = USUAL_US;
            return least + rng.draw_below((most - least) as usize) as u64;
        }
        self.took_us[rng.draw_below(self.took_us.len())].saturating_sub(took_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_usual_at_first_and_then_that_of_the_latest_starts() {
        let mut times = LinkingTimes::default();
        let mut rng = Rng::of(7, &[1]);
        for _ in 0..4 {
            times.add_time(9_000_000);
            let usual_us = times.draw_delay_us(100_000, &mut rng);
            assert!((300_000..1_500_000).contains(&usual_us), "{usual_us}");
        }
        times.add_time(9_000_000);
        assert_eq!(times.draw_delay_us(100_000, &mut rng), 8_900_000);
        (0..64).for_each(|at| times.add_time(1_000_000 + at * 10_000));
        let mut drawn: Vec<u64> = (0..999).map(|_| times.draw_delay_us(0, &mut rng)).collect();
        drawn.sort_unstable();
        assert!(
            (1_250_000..1_380_000).contains(&drawn[499]),
            "{}",
            drawn[499]
        );
        assert!(drawn[0] < 1_050_000 && drawn[998] > 1_580_000, "the spread");
        assert_eq!(times.draw_delay_us(5_000_000, &mut rng), 0, "a slow page");
    }
}
