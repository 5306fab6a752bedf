-- Requests to language models, one row each: written when the model is asked, and again when the request is over. `cost_micro`
-- is in millionths of the currency of the study's price; until the cost is known, it is the most that it can be. A message
-- that a language model wrote has the name of its partner.

CREATE TABLE model_calls (
    episode TEXT NOT NULL,
    number INTEGER NOT NULL,
    participant TEXT NOT NULL,
    stage TEXT NOT NULL,
    visit INTEGER NOT NULL,
    partner TEXT NOT NULL,
    seat INTEGER,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    parameters TEXT NOT NULL,
    asked_for TEXT NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT NOT NULL,
    outcome TEXT NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost_micro INTEGER NOT NULL,
    asked_us INTEGER NOT NULL,
    latency_us INTEGER,
    retries INTEGER NOT NULL,
    tick_asked INTEGER,
    message INTEGER,
    directive TEXT NOT NULL,
    refusal TEXT NOT NULL,
    tick_applied INTEGER,
    PRIMARY KEY (episode, number)
) STRICT;

ALTER TABLE messages ADD COLUMN partner TEXT NOT NULL DEFAULT '';
