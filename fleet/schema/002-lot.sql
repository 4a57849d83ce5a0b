-- SPDX-License-Identifier: Apache-2.0
--
-- Version 2: of a module that very many machines use, those whose batches count on a day are drawn by lot; a batch comes as
-- flat arrays.

ALTER TABLE fleet.setting
	ADD turnout integer NOT NULL DEFAULT 256 CHECK (turnout BETWEEN 20 AND 100000);	-- machines of a module, on a day

-- The part of all machines that is drawn. `machines`, `claimed` and `accepted` are of these alone.
ALTER TABLE fleet.day ADD part double precision NOT NULL DEFAULT 1 CHECK (part > 0 AND part <= 1);

DROP TYPE fleet.delta CASCADE; -- and the functions that took it
DROP FUNCTION IF EXISTS fleet.count_add(fleet.count[], real, integer);
DROP FUNCTION IF EXISTS fleet.cap(bytea);
DROP VIEW IF EXISTS fleet.modules, fleet.days;
