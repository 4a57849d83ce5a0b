-- SPDX-License-Identifier: Apache-2.0
--
-- What machines and operators call. Installed anew with every version of Morph; the tables are kept.
--
-- Functions that machines call run as their owner, with a fixed search path, name everything by its schema, build no
-- statement from text, and ask who calls by session_user, which SET ROLE does not change.
--
-- Errors of our own: MF001 the batch is wrong, and will never be taken; MF002 enough for today; MF003 not one of the fleet.

CREATE OR REPLACE FUNCTION fleet.today() RETURNS date
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT (pg_catalog.now() AT TIME ZONE 'UTC')::date
$$;

-- The calling machine; an error when it is none, or is no longer.
CREATE OR REPLACE FUNCTION fleet.me() RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ret integer;
BEGIN
	SELECT m.id INTO ret FROM fleet.machine m WHERE m.role = session_user AND m.revoked IS NULL;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'this credential is not, or no longer, one of the fleet' USING ERRCODE = 'MF003';
	END IF;
	RETURN ret;
END $$;

-- What a machine has to know before it pushes.
CREATE OR REPLACE FUNCTION fleet.hello(p_stream bigint,
	OUT interface integer, OUT last bigint, OUT k integer, OUT half_life real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	my integer := fleet.me();
BEGIN
	interface := 1;
	SELECT s.k, s.half_life INTO k, half_life FROM fleet.setting s;
	SELECT s.last INTO last FROM fleet.stream s WHERE s.machine = my AND s.stream = p_stream;
	last := coalesce(last, 0);
END $$;

-- Is this a batch that counts can be taken from? The sums of its samples and executions, and how many blocks it has.
CREATE OR REPLACE FUNCTION fleet.batch_check(p_deltas fleet.delta[], OUT samples double precision,
	OUT executions double precision, OUT counts bigint)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	good boolean;
BEGIN
	SELECT count(DISTINCT d.guid) = count(*) AND count(*) BETWEEN 1 AND 65536
		AND bool_and(coalesce(d.guid IS NOT NULL AND d.hash IS NOT NULL
			AND d.samples >= 0 AND d.samples <= 1e12
			AND array_ndims(d.executions) = 1 AND array_ndims(d.errors) = 1
			AND array_lower(d.executions, 1) = 1 AND array_lower(d.errors, 1) = 1
			AND cardinality(d.executions) = cardinality(d.errors), false)),
		sum(d.samples), sum(cardinality(d.executions))
		INTO good, samples, counts FROM unnest(p_deltas) d;
	IF coalesce(good AND samples > 0 AND counts <= 1000000, false) THEN
		-- NaN is above all numbers.
		SELECT bool_and(coalesce(b.x >= 0 AND b.x <= 1e20 AND (b.e = -1 OR b.e BETWEEN 0 AND 1e6), false)),
			sum(CASE WHEN b.e >= 0 THEN b.x ELSE 0 END)
			INTO good, executions FROM unnest(p_deltas) d, unnest(d.executions, d.errors) b(x, e);
	ELSE
		good := false;
	END IF;
	IF NOT coalesce(good AND executions > 0, false) THEN
		RAISE EXCEPTION 'the batch is not one that counts can be taken from' USING ERRCODE = 'MF001';
	END IF;
END $$;

-- Is this batch new? Then it will not be a second time. The caller holds the machine's row.
CREATE OR REPLACE FUNCTION fleet.stream_advance(p_machine integer, p_stream bigint, p_sequence bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO fleet.stream(machine, stream, used) VALUES (p_machine, p_stream, fleet.today()) ON CONFLICT DO NOTHING;
	IF FOUND THEN
		DELETE FROM fleet.stream s WHERE s.machine = p_machine AND s.stream IN
			(SELECT o.stream FROM fleet.stream o WHERE o.machine = p_machine AND o.stream <> p_stream
			 ORDER BY o.used DESC, o.last DESC OFFSET 15);
	END IF;
	UPDATE fleet.stream s SET last = p_sequence, used = fleet.today()
		WHERE s.machine = p_machine AND s.stream = p_stream AND s.last < p_sequence;
	RETURN FOUND;
END $$;

-- Samples of one machine that count today: the median of what machines claimed on the module's last day on which k
-- machines pushed. Half of the machines, or fewer, cannot raise it above what others claimed.
CREATE OR REPLACE FUNCTION fleet.cap(p_build bytea) RETURNS double precision
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	s fleet.setting;
	from_day date;
	ret double precision;
BEGIN
	SELECT * INTO s FROM fleet.setting;
	SELECT max(d.epoch) INTO from_day FROM fleet.day d
		WHERE d.build = p_build AND d.epoch < fleet.today() AND d.machines >= s.k;
	SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY c.claimed) INTO ret FROM fleet.contribution c
		WHERE c.build = p_build AND c.epoch = from_day;
	DELETE FROM fleet.contribution c WHERE c.build = p_build
		AND c.epoch < coalesce(from_day, fleet.today() - s.retention);
	DELETE FROM fleet.day d WHERE d.build = p_build AND d.epoch < fleet.today() - 400;
	RETURN least(greatest(coalesce(ret, s.first_cap), 1), s.max_cap);
END $$;

-- How many of these samples count: at most what is left of the machine's cap. Holds the module's row until the end.
CREATE OR REPLACE FUNCTION fleet.accept(p_machine integer, p_build bytea, p_samples double precision)
RETURNS double precision
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := fleet.today();
	the_cap double precision;
	before double precision;
	ret double precision;
BEGIN
	SELECT d.cap INTO the_cap FROM fleet.day d WHERE d.build = p_build AND d.epoch = today FOR UPDATE;
	IF NOT FOUND THEN
		INSERT INTO fleet.day(build, epoch, cap) VALUES (p_build, today, fleet.cap(p_build)) ON CONFLICT DO NOTHING;
		SELECT d.cap INTO the_cap FROM fleet.day d WHERE d.build = p_build AND d.epoch = today FOR UPDATE;
	END IF;
	SELECT c.accepted INTO before FROM fleet.contribution c
		WHERE c.build = p_build AND c.epoch = today AND c.machine = p_machine;
	ret := greatest(least(p_samples, the_cap - coalesce(before, 0)), 0);
	INSERT INTO fleet.contribution AS c (build, epoch, machine, claimed, accepted)
		VALUES (p_build, today, p_machine, p_samples, ret)
		ON CONFLICT (build, epoch, machine) DO UPDATE
		SET claimed = c.claimed + excluded.claimed, accepted = c.accepted + excluded.accepted;
	UPDATE fleet.day d SET machines = d.machines + (before IS NULL)::integer, claimed = d.claimed + p_samples,
		accepted = d.accepted + ret WHERE d.build = p_build AND d.epoch = today;
	RETURN ret;
END $$;

-- Add rows to those with the same key, which are aged to the same day first.
-- Arrays: variance ages by the square, what is known of blocks that never ran by itself.
CREATE OR REPLACE FUNCTION fleet.count_add(p_rows fleet.count[], p_half_life real, p_k integer) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	INSERT INTO fleet.count AS c
	SELECT * FROM unnest(p_rows) r ORDER BY r.guid, r.hash, r.size
	ON CONFLICT (build, guid, hash, size, served) DO UPDATE SET
		epoch = greatest(c.epoch, excluded.epoch),
		machines = CASE WHEN cardinality(c.machines) >= p_k OR c.machines @> excluded.machines THEN c.machines
			ELSE c.machines || excluded.machines END,
		samples = c.samples * power(0.5, (greatest(c.epoch, excluded.epoch) - c.epoch) / p_half_life::double precision)
			+ excluded.samples,
		(executions, spread) = (
			SELECT array_agg(u.a * t.w + u.b ORDER BY u.i),
				array_agg(CASE WHEN u.v > 0 OR u.s > 0 THEN greatest(u.v * t.w * t.w, 0) + greatest(u.s, 0)
					ELSE u.v * t.w + u.s END ORDER BY u.i)
			FROM (SELECT power(0.5, (greatest(c.epoch, excluded.epoch) - c.epoch) / p_half_life::double precision)
				OFFSET 0) t(w),
				unnest(c.executions, c.spread, excluded.executions, excluded.spread)
					WITH ORDINALITY u(a, v, b, s, i))
$$;

-- What of this batch has k machines in it by now is served from here on.
CREATE OR REPLACE FUNCTION fleet.release(p_build bytea, p_deltas fleet.delta[], p_half_life real, p_k integer)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ready fleet.count[];
BEGIN
	WITH gone AS (
		DELETE FROM fleet.count c USING unnest(p_deltas) d
		WHERE c.build = p_build AND c.guid = d.guid AND c.hash = d.hash AND c.size = cardinality(d.executions)
			AND NOT c.served AND cardinality(c.machines) >= p_k
		RETURNING c.build, c.guid, c.hash, c.size, true AS served, c.epoch, '{}'::integer[] AS machines,
			c.samples, c.executions, c.spread)
	SELECT array_agg(ROW(g.*)::fleet.count) INTO ready FROM gone g;
	IF ready IS NOT NULL THEN
		PERFORM fleet.count_add(ready, p_half_life, p_k);
	END IF;
END $$;

-- Once a day, by whoever comes first: counts of modules that nobody has any more.
CREATE OR REPLACE FUNCTION fleet.tidy() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	last date := fleet.today() - (SELECT s.retention FROM fleet.setting s);
BEGIN
	IF NOT pg_try_advisory_xact_lock(7381230001) THEN
		RETURN;
	END IF;
	UPDATE fleet.setting s SET tidied = fleet.today() WHERE s.tidied < fleet.today();
	IF FOUND THEN
		DELETE FROM fleet.count c WHERE c.epoch < last;
		DELETE FROM fleet.contribution c WHERE c.epoch < last;
		DELETE FROM fleet.day d WHERE d.epoch < fleet.today() - 400;
		DELETE FROM fleet.stream s WHERE s.used < fleet.today() - 400;
	END IF;
END $$;

/*
 * One batch: what a machine counted in a module since its last one. 'taken', or 'again' when it was taken before.
 *
 * A machine cannot make its counts weigh more than its samples do, and not more of these than the day's cap: the shares of
 * its executions are multiplied by what is accepted of its samples, so what it adds to a module sums up to that, whatever it
 * claims. Its errors cannot be smaller than chance allows.
 */
CREATE OR REPLACE FUNCTION fleet.push(p_stream bigint, p_sequence bigint, p_build bytea, p_deltas fleet.delta[])
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	my integer := fleet.me();
	today date := fleet.today();
	s fleet.setting;
	batch record;
	mass double precision;
BEGIN
	IF p_stream IS NULL OR coalesce(p_sequence, 0) <= 0 OR coalesce(length(p_build), 0) NOT BETWEEN 8 AND 32 THEN
		RAISE EXCEPTION 'the batch is not one that counts can be taken from' USING ERRCODE = 'MF001';
	END IF;
	PERFORM 1 FROM fleet.machine m WHERE m.id = my AND m.revoked IS NULL FOR NO KEY UPDATE;
	IF NOT fleet.stream_advance(my, p_stream, p_sequence) THEN
		RETURN 'again';
	END IF;
	SELECT * INTO s FROM fleet.setting;
	SELECT * INTO batch FROM fleet.batch_check(p_deltas);
	UPDATE fleet.machine m SET counts = CASE WHEN m.seen = today THEN m.counts ELSE 0 END + batch.counts,
		seen = today, batches = m.batches + 1
		WHERE m.id = my AND CASE WHEN m.seen = today THEN m.counts ELSE 0 END + batch.counts <= s.counts_per_day;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'this machine has pushed as much as it may in a day' USING ERRCODE = 'MF002';
	END IF;
	mass := fleet.accept(my, p_build, batch.samples);
	IF mass > 0 THEN
		PERFORM fleet.count_add((
			SELECT array_agg(ROW(p_build, d.guid, d.hash, cardinality(d.executions), false, today, ARRAY[my],
				d.samples * mass / batch.samples, b.executions, b.spread)::fleet.count)
			FROM unnest(p_deltas) d, LATERAL (
				SELECT array_agg(CASE WHEN u.e < 0 THEN 0 ELSE u.x * mass / batch.executions END ORDER BY u.i),
					array_agg(CASE WHEN u.e < 0 THEN 0
						WHEN u.x = 0 THEN -1 / power(greatest(u.e, 1 / sqrt(batch.samples)), 2)
						ELSE power(u.x * mass / batch.executions
							* greatest(u.e, 1 / sqrt(batch.samples)), 2) END ORDER BY u.i)
				FROM unnest(d.executions, d.errors) WITH ORDINALITY u(x, e, i)) b(executions, spread)),
			s.half_life, s.k);
		PERFORM fleet.release(p_build, p_deltas, s.half_life, s.k);
	END IF;
	IF s.tidied < today THEN
		PERFORM fleet.tidy();
	END IF;
	RETURN 'taken';
END $$;

-- What the fleet knows of a module. Of a function that comes with several graphs, the one that was sampled most.
CREATE OR REPLACE FUNCTION fleet.pull(p_build bytea)
RETURNS TABLE (guid bigint, hash bigint, weight double precision, samples double precision,
	executions double precision[], spread double precision[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM fleet.me();
	RETURN QUERY SELECT DISTINCT ON (c.guid) c.guid, c.hash,
		power(0.5, (fleet.today() - c.epoch) / s.half_life::double precision), c.samples, c.executions, c.spread
		FROM fleet.count c, fleet.setting s WHERE c.build = p_build AND c.served
		ORDER BY c.guid, c.samples DESC;
END $$;

/* ---- for operators and those who look ---- */

CREATE OR REPLACE VIEW fleet.modules AS
	SELECT encode(d.build, 'hex') AS build, p.name, max(d.epoch) AS last_day,
		max(d.machines) AS machines, sum(d.claimed) AS samples, sum(d.accepted) AS accepted
	FROM fleet.day d LEFT JOIN fleet.program p ON p.build = d.build
	GROUP BY d.build, p.name;

CREATE OR REPLACE VIEW fleet.days AS
	SELECT d.epoch, encode(d.build, 'hex') AS build, p.name, d.machines, d.claimed AS samples, d.accepted, d.cap
	FROM fleet.day d LEFT JOIN fleet.program p ON p.build = d.build;

CREATE OR REPLACE VIEW fleet.machines AS
	SELECT m.name, m.added, m.revoked, m.seen, m.batches FROM fleet.machine m;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fleet FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fleet.hello(bigint), fleet.push(bigint, bigint, bytea, fleet.delta[]), fleet.pull(bytea)
	TO morph_fleet_machine;
GRANT SELECT ON fleet.modules, fleet.days, fleet.machines TO morph_fleet_viewer;
