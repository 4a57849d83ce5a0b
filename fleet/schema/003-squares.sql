-- SPDX-License-Identifier: Apache-2.0
--
-- Version 3: how much machines differ, so that a difference between builds can be told from chance; rows of counts stay in
-- one piece.

-- Sum over machines of the square of what each claimed.
ALTER TABLE fleet.day ADD squares double precision NOT NULL DEFAULT 0;

-- Most of what a push cost was to compress rows and to write their parts elsewhere, each time they were added to.
DO $$
BEGIN
	FOR i IN 0..15 LOOP
		EXECUTE pg_catalog.format('ALTER TABLE fleet.%I SET (toast_tuple_target = 8160)', 'count_' || i);
	END LOOP;
END $$;

-- Of version 2, which take other arguments now.
DROP FUNCTION IF EXISTS fleet.worth(date, real);
DROP FUNCTION IF EXISTS fleet.count_add(fleet.count[], real);
