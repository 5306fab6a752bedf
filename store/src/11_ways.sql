-- How far the page of somebody who waited was from those of their group, as last measured before an episode: the longest
-- round trip, microseconds, and the greatest loss of packets, of a thousand.

ALTER TABLE waits ADD COLUMN rtt_us INTEGER;
ALTER TABLE waits ADD COLUMN loss_permille INTEGER;
