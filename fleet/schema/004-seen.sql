-- SPDX-License-Identifier: Apache-2.0
--
-- Version 4: what machines saw in the shipped file, samples per instruction and jumps, is added up as it is; whoever has the
-- file estimates counts from the sum.

-- Batches as they came, until there are enough of a module to be added up at once: that costs as much for many as for one.
CREATE TABLE fleet.waiting (
	build		bytea NOT NULL,
	epoch		date NOT NULL,
	machine		integer NOT NULL,
	froms		bigint[] NOT NULL,	-- bytes in the file
	targets		bigint[] NOT NULL,	-- of a jump; -1: samples that fell there
	weights		real[] NOT NULL		-- how many of these count
) PARTITION BY HASH (build);

-- What was seen within 4,096 bytes of the file, at its worth on the day `epoch`. Gathered and served as fleet.count.
CREATE TABLE fleet.seen (
	build		bytea NOT NULL,
	page		bigint NOT NULL,	-- number of the 4,096 bytes
	served		boolean NOT NULL,
	epoch		date NOT NULL,
	machines	integer[] NOT NULL,	-- that are in what is gathered; of what is served: none are named
	froms		smallint[] NOT NULL,	-- bytes in the page
	targets		bigint[] NOT NULL,
	weights		real[] NOT NULL,
	PRIMARY KEY (build, page, served)
) PARTITION BY HASH (build);

DO $$
DECLARE
	parent text;
BEGIN
	FOREACH parent IN ARRAY ARRAY['waiting', 'seen'] LOOP
		FOR i IN 0..15 LOOP
			EXECUTE pg_catalog.format('CREATE TABLE fleet.%I PARTITION OF fleet.%I '
				'FOR VALUES WITH (MODULUS 16, REMAINDER %s)', parent || '_' || i, parent, i);
			EXECUTE pg_catalog.format('ALTER TABLE fleet.%I ENABLE ROW LEVEL SECURITY', parent || '_' || i);
			EXECUTE pg_catalog.format('ALTER TABLE fleet.%I SET (toast_tuple_target = 8160)',
				parent || '_' || i);
		END LOOP;
	END LOOP;
END $$;
CREATE INDEX ON fleet.waiting (build);
ALTER TABLE fleet.waiting ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.seen ENABLE ROW LEVEL SECURITY;

ALTER TABLE fleet.day
	ADD expected integer NOT NULL DEFAULT 0,	-- machines, of those that are drawn: as many as on the last day
	ADD waiting integer NOT NULL DEFAULT 0;		-- batches in fleet.waiting
