-- SPDX-License-Identifier: Apache-2.0
--
-- Version 1 of the fleet's tables. docs/format-fleet.md explains them.
--
-- A module is a shipped file, by build ID. An epoch is a day of the database's own calendar (UTC): machines send no times.
-- Everything that is keyed by a build ID is partitioned by its hash, and no statement needs two build IDs at once: a
-- database may be split by build ID over several.

CREATE TABLE fleet.setting (
	one		boolean PRIMARY KEY DEFAULT true CHECK (one),
	k		integer NOT NULL DEFAULT 5 CHECK (k BETWEEN 1 AND 1000),	-- machines, before a count is served
	half_life	real NOT NULL DEFAULT 7 CHECK (half_life BETWEEN 0.1 AND 3650),	-- days
	first_cap	real NOT NULL DEFAULT 500 CHECK (first_cap >= 1),	-- samples of a machine on a module's first day
	max_cap		real NOT NULL DEFAULT 20000 CHECK (max_cap >= 1),	-- on any day
	counts_per_day	bigint NOT NULL DEFAULT 50000000 CHECK (counts_per_day >= 1),	-- blocks that a machine may push
	retention	integer NOT NULL DEFAULT 60 CHECK (retention >= 1),	-- days without a push until counts go
	tidied		date NOT NULL DEFAULT '-infinity'
);
INSERT INTO fleet.setting DEFAULT VALUES;

CREATE TABLE fleet.machine (
	id		integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name		text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
	role		name NOT NULL UNIQUE,
	added		date NOT NULL,
	revoked		date,
	seen		date,				-- day of its last push
	counts		bigint NOT NULL DEFAULT 0,	-- pushed on that day
	batches		bigint NOT NULL DEFAULT 0	-- taken, ever
) WITH (fillfactor = 70);

-- A queue of a machine, and how far it has been taken. A machine that is set up anew begins another one.
CREATE TABLE fleet.stream (
	machine		integer NOT NULL REFERENCES fleet.machine ON DELETE CASCADE,
	stream		bigint NOT NULL,
	last		bigint NOT NULL DEFAULT 0,
	used		date NOT NULL,
	PRIMARY KEY (machine, stream)
) WITH (fillfactor = 70);

-- What the operator calls a module; machines send no names.
CREATE TABLE fleet.program (
	build		bytea PRIMARY KEY,
	name		text NOT NULL CHECK (length(name) BETWEEN 1 AND 200)
);

CREATE TABLE fleet.day (
	build		bytea NOT NULL CHECK (length(build) BETWEEN 8 AND 32),
	epoch		date NOT NULL,
	machines	integer NOT NULL DEFAULT 0,
	claimed		double precision NOT NULL DEFAULT 0,	-- samples
	accepted	double precision NOT NULL DEFAULT 0,	-- of these, within the cap
	cap		double precision NOT NULL,		-- samples of one machine that count on this day
	PRIMARY KEY (build, epoch)
) PARTITION BY HASH (build);

-- What each machine claimed today, and on the day that today's cap is from.
CREATE TABLE fleet.contribution (
	build		bytea NOT NULL,
	epoch		date NOT NULL,
	machine		integer NOT NULL,
	claimed		double precision NOT NULL,
	accepted	double precision NOT NULL,
	PRIMARY KEY (build, epoch, machine)
) PARTITION BY HASH (build);

-- Counts of a function, at their worth on the day `epoch`. Of each there are at most two rows: what is being gathered,
-- and what is served. What is gathered is added to what is served when k machines are in it, never before: two answers
-- never differ by less than what k machines did.
CREATE TABLE fleet.count (
	build		bytea NOT NULL,
	guid		bigint NOT NULL,
	hash		bigint NOT NULL,	-- of the function's graph
	size		integer NOT NULL,	-- blocks
	served		boolean NOT NULL,
	epoch		date NOT NULL,
	machines	integer[] NOT NULL,	-- at most k of those that are in it; of what is served: none are named
	samples		double precision NOT NULL,
	executions	double precision[] NOT NULL,	-- per block, of a module's samples
	spread		double precision[] NOT NULL,	-- > 0: variance; < 0: never ran, -1 / error^2; 0: nothing is known
	PRIMARY KEY (build, guid, hash, size, served)
) PARTITION BY HASH (build);

DO $$
DECLARE
	parent text;
BEGIN
	FOREACH parent IN ARRAY ARRAY['day', 'contribution', 'count'] LOOP
		FOR i IN 0..15 LOOP
			EXECUTE pg_catalog.format('CREATE TABLE fleet.%I PARTITION OF fleet.%I '
				'FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (fillfactor = 60)',
				parent || '_' || i, parent, i);
			EXECUTE pg_catalog.format('ALTER TABLE fleet.%I ENABLE ROW LEVEL SECURITY',
				parent || '_' || i);
		END LOOP;
	END LOOP;
END $$;

-- Nobody but the owner, in whose name the functions run, sees or writes a row, unless a policy says so.
ALTER TABLE fleet.setting ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.machine ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.stream ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.program ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.day ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.contribution ENABLE ROW LEVEL SECURITY;
ALTER TABLE fleet.count ENABLE ROW LEVEL SECURITY;

-- A machine may look at its own row, to know whether it is still one of the fleet.
CREATE POLICY own ON fleet.machine FOR SELECT TO morph_fleet_machine USING (role = session_user);
GRANT SELECT ON fleet.machine TO morph_fleet_machine;
GRANT USAGE ON SCHEMA fleet TO morph_fleet_machine, morph_fleet_viewer;

-- One function of a batch: what a machine counted since its last one.
CREATE TYPE fleet.delta AS (
	guid		bigint,
	hash		bigint,
	samples		double precision,
	executions	double precision[],
	errors		real[]		-- relative standard error; -1: nothing is known
);
