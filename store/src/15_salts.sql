-- A random value beside each recruiter's identifier. The ledger has a hash over both: once the value is erased with the
-- identifier, nobody can try identifiers against the hash. What is there already is entered into the ledger by the program.

ALTER TABLE identifiers ADD COLUMN salt TEXT NOT NULL DEFAULT '';
UPDATE identifiers SET salt = hex(randomblob(16));
