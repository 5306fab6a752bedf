-- Functions of SQLite that the statements call, and the rules for several servers. A change here needs a migration.

CREATE OR REPLACE FUNCTION strftime(format TEXT, moment TEXT) RETURNS TEXT LANGUAGE sql VOLATILE AS $$
    SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

CREATE OR REPLACE FUNCTION iif(condition BOOLEAN, yes anycompatible, other anycompatible) RETURNS anycompatible
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN condition THEN yes ELSE other END
$$;

CREATE OR REPLACE FUNCTION add_pair(pairs JSONB, key BIGINT, value anyelement) RETURNS JSONB LANGUAGE sql IMMUTABLE AS $$
    SELECT pairs || jsonb_build_object(key::TEXT, value)
$$;

CREATE OR REPLACE FUNCTION pairs_text(pairs JSONB) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT pairs::TEXT
$$;

CREATE OR REPLACE AGGREGATE json_group_object(BIGINT, anyelement) (
    SFUNC = add_pair, STYPE = JSONB, INITCOND = '{}', FINALFUNC = pairs_text
);

-- Transactions that write rows come one after the other; `own` is the generation of the server that writes, NULL for a
-- command. Another statement than the lock reads the generation, so that it sees who has taken over meanwhile.
CREATE OR REPLACE FUNCTION begin_write(own BIGINT) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1668248684, 1);
    PERFORM check_generation(own);
END
$$;

CREATE OR REPLACE FUNCTION check_generation(own BIGINT) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF own IS NOT NULL AND NOT EXISTS (SELECT 1 FROM servers WHERE generation = own) THEN
        RAISE EXCEPTION 'another server has taken over' USING ERRCODE = 'CP001';
    END IF;
END
$$;

-- Appends to the log of an episode. Logs are written beside each other, and by nobody while another server takes over. The
-- beginning of the log may lie in an object store already.
CREATE OR REPLACE FUNCTION append_part(own BIGINT, log TEXT, first BIGINT, part BYTEA) RETURNS VOID
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    moved BIGINT := 0;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1668248684, 2);
    PERFORM check_generation(own);
    SELECT length INTO moved FROM episode_objects WHERE path = log;
    IF first > 0 AND moved IS NULL AND NOT EXISTS (SELECT 1 FROM episode_parts WHERE path = log AND start = 0) THEN
        RAISE EXCEPTION 'the log % was erased', log;
    END IF;
    IF first = 0 AND moved IS NOT NULL THEN
        RAISE EXCEPTION 'the log % is there already', log;
    END IF;
    IF first < moved THEN
        -- A repetition of what has been moved since.
        RETURN;
    END IF;
    INSERT INTO episode_parts (path, start, bytes) VALUES (log, first, part) ON CONFLICT (path, start) DO NOTHING;
    IF NOT FOUND AND (SELECT bytes FROM episode_parts WHERE path = log AND start = first) <> part THEN
        RAISE EXCEPTION 'the log % has other bytes at %', log, first;
    END IF;
END
$$;

-- Replaces the log of an episode, also one that lies in an object store.
CREATE OR REPLACE FUNCTION replace_parts(own BIGINT, log TEXT, whole BYTEA) RETURNS VOID LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1668248684, 2);
    PERFORM check_generation(own);
    DELETE FROM episode_objects WHERE path = log;
    DELETE FROM episode_parts WHERE path = log;
    INSERT INTO episode_parts (path, start, bytes) VALUES (log, 0, whole);
END
$$;

-- The SHA-256 of the part of a log that is in the database; NULL if there is none.
CREATE OR REPLACE FUNCTION parts_hash(log TEXT) RETURNS TEXT LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT encode(sha256(string_agg(bytes, ''::BYTEA ORDER BY start)), 'hex') FROM episode_parts WHERE path = log);
END
$$;

-- Has the whole log lie in an object, which was written and read before. False, and nothing is changed, if the log is
-- another one by now than the parts and the object that it was copied from.
CREATE OR REPLACE FUNCTION move_log(own BIGINT, log TEXT, parts TEXT, known TEXT, name TEXT, whole BIGINT, hash TEXT)
RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- Neither is the log erased nor written meanwhile.
    PERFORM pg_advisory_xact_lock(1668248684, 1);
    PERFORM pg_advisory_xact_lock(1668248684, 2);
    PERFORM check_generation(own);
    IF parts_hash(log) IS DISTINCT FROM parts
        OR (SELECT object FROM episode_objects WHERE path = log) IS DISTINCT FROM known THEN
        RETURN FALSE;
    END IF;
    INSERT INTO episode_objects (path, object, length, sha256) VALUES (log, name, whole, hash)
        ON CONFLICT (path) DO UPDATE SET object = name, length = whole, sha256 = hash;
    DELETE FROM episode_parts WHERE path = log;
    RETURN TRUE;
END
$$;

-- Whatever object a log has no longer is to be deleted.
CREATE OR REPLACE FUNCTION note_leftover() RETURNS TRIGGER LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO object_leftovers (object) VALUES (OLD.object) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

-- Takes the study over if no server has it; gives the generation of the new server, NULL if one has it. Whoever writes
-- now has written before this is done, and is refused from then on.
CREATE OR REPLACE FUNCTION take_over(name TEXT, length_ms BIGINT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    own BIGINT;
BEGIN
    PERFORM pg_advisory_xact_lock(1668248684, 1);
    PERFORM pg_advisory_xact_lock(1668248684, 2);
    UPDATE servers SET generation = generation + 1, holder = name,
        until = clock_timestamp() + length_ms * INTERVAL '1 millisecond'
        WHERE until <= clock_timestamp() RETURNING generation INTO own;
    RETURN own;
END
$$;

-- Goes on having the study; false if another server has taken over.
CREATE OR REPLACE FUNCTION stay(own BIGINT, length_ms BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE servers SET until = clock_timestamp() + length_ms * INTERVAL '1 millisecond' WHERE generation = own;
    RETURN FOUND;
END
$$;
