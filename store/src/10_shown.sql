-- In which order the choices or rows of an item were shown, where it was drawn: their values, a list in JSON.

ALTER TABLE answers ADD COLUMN shown TEXT;
