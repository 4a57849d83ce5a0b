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
	interface := 2;
	SELECT s.k, s.half_life INTO k, half_life FROM fleet.setting s;
	SELECT s.last INTO last FROM fleet.stream s WHERE s.machine = my AND s.stream = p_stream;
	last := coalesce(last, 0);
END $$;

-- The same for machines that hand over what they saw (fleet.push() with what was seen, fleet.seen()): interface 3. Those of
-- interface 2 go on beside them.
CREATE OR REPLACE FUNCTION fleet.hello(p_stream bigint, p_interface integer,
	OUT interface integer, OUT last bigint, OUT k integer, OUT half_life real)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	SELECT 3, h.last, h.k, h.half_life INTO interface, last, k, half_life FROM fleet.hello(p_stream) h;
END $$;

-- An array of n elements, one after the other from 1, none of them NULL? Part of its callers' statements, as fleet.worth().
CREATE OR REPLACE FUNCTION fleet.is_flat(p_array anyarray, p_n bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(array_ndims(p_array) = 1 AND array_lower(p_array, 1) = 1 AND cardinality(p_array) = p_n
		AND array_position(p_array, NULL) IS NULL, false)
$$;

-- Is this a batch that counts can be taken from? The sums of its samples and executions.
CREATE OR REPLACE FUNCTION fleet.batch_check(p_guids bigint[], p_hashes bigint[], p_samples real[], p_sizes integer[],
	p_executions real[], p_errors real[], OUT samples double precision, OUT executions double precision)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	n integer := coalesce(cardinality(p_guids), 0);
	counts integer := coalesce(cardinality(p_executions), 0);
	good boolean;
BEGIN
	good := n BETWEEN 1 AND 65536 AND counts BETWEEN 1 AND 1000000
		AND fleet.is_flat(p_guids, n) AND fleet.is_flat(p_hashes, n) AND fleet.is_flat(p_samples, n)
		AND fleet.is_flat(p_sizes, n) AND fleet.is_flat(p_executions, counts) AND fleet.is_flat(p_errors, counts);
	IF good THEN
		-- NaN is above all numbers.
		SELECT count(DISTINCT f.guid) = n AND min(f.size) >= 1 AND sum(f.size) = counts AND min(f.samples) >= 0
			AND max(f.samples) <= 1e12, sum(f.samples::double precision)
			INTO good, samples FROM unnest(p_guids, p_samples, p_sizes) f(guid, samples, size);
		good := good AND samples >= 1 AND 0 <= ALL (p_executions) AND 1e20 >= ALL (p_executions)
			AND 1e6 >= ALL (p_errors);
	END IF;
	IF good THEN
		SELECT bool_and(b.e >= 0 OR b.e = -1), sum(b.x::double precision) FILTER (WHERE b.e >= 0)
			INTO good, executions FROM unnest(p_executions, p_errors) b(x, e);
	END IF;
	IF NOT coalesce(good AND executions > 0, false) THEN
		RAISE EXCEPTION 'the batch is not one that counts can be taken from' USING ERRCODE = 'MF001';
	END IF;
END $$;

-- The same of what was seen: how many samples, and jumps.
CREATE OR REPLACE FUNCTION fleet.seen_check(p_froms bigint[], p_targets bigint[], p_weights real[],
	OUT samples double precision, OUT jumps double precision)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	n integer := coalesce(cardinality(p_froms), 0);
	good boolean;
BEGIN
	good := n BETWEEN 1 AND 65536
		AND fleet.is_flat(p_froms, n) AND fleet.is_flat(p_targets, n) AND fleet.is_flat(p_weights, n);
	IF good THEN
		SELECT min(s.f) >= 0 AND max(s.f) < 1::bigint << 40 AND min(s.t) >= -1 AND max(s.t) < 1::bigint << 40
			AND min(s.w) > 0 AND max(s.w) <= 1e12,
			coalesce(sum(s.w::double precision) FILTER (WHERE s.t = -1), 0),
			coalesce(sum(s.w::double precision) FILTER (WHERE s.t <> -1), 0)
			INTO good, samples, jumps FROM unnest(p_froms, p_targets, p_weights) s(f, t, w);
	END IF;
	IF NOT coalesce(good AND samples >= 1, false) THEN
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

-- A number in 0..1 that nobody chooses, another one for each machine, module and day.
CREATE OR REPLACE FUNCTION fleet.lot(p_machine integer, p_build bytea, p_day date) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
	SELECT (hashtextextended(p_machine || encode(p_build, 'hex') || (p_day - date '2000-01-01'), 0) & 4294967295)
		/ 4294967296.0::double precision
$$;

-- A module's day begins. Samples of one machine that count: the median of what machines claimed on the module's last day
-- on which k machines pushed; half of the machines, or fewer, cannot raise it above what others claimed. The part of the
-- machines that is drawn: as there were many on that day, so that there will be about `turnout`.
CREATE OR REPLACE FUNCTION fleet.day_begin(p_build bytea) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	s fleet.setting;
	model fleet.day;
	median double precision;
BEGIN
	SELECT * INTO s FROM fleet.setting;
	PERFORM 1 FROM fleet.day d WHERE d.build = p_build AND d.waiting > 0 FOR UPDATE;
	IF FOUND THEN
		PERFORM fleet.fold(p_build, s.half_life, s.k);
	END IF;
	SELECT * INTO model FROM fleet.day d WHERE d.build = p_build AND d.epoch < fleet.today() AND d.machines >= s.k
		ORDER BY d.epoch DESC LIMIT 1;
	SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY c.claimed) INTO median FROM fleet.contribution c
		WHERE c.build = p_build AND c.epoch = model.epoch;
	INSERT INTO fleet.day(build, epoch, expected, cap, part) VALUES (p_build, fleet.today(), coalesce(model.machines, 0),
		least(greatest(coalesce(median, s.first_cap), 1), s.max_cap),
		least(1, s.turnout * coalesce(model.part / model.machines, 1))) ON CONFLICT DO NOTHING;
	DELETE FROM fleet.contribution c WHERE c.build = p_build
		AND c.epoch < coalesce(model.epoch, fleet.today() - s.retention);
	DELETE FROM fleet.day d WHERE d.build = p_build AND d.epoch < fleet.today() - 400;
END $$;

-- How many of these samples count: none if the machine was not drawn, and at most what is left of its cap. Holds the module's
-- row until the end, unless it is none.
CREATE OR REPLACE FUNCTION fleet.accept(p_machine integer, p_build bytea, p_samples double precision)
RETURNS double precision
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := fleet.today();
	the_cap double precision;
	the_part double precision;
	before fleet.contribution;
	ret double precision;
BEGIN
	SELECT d.part INTO the_part FROM fleet.day d WHERE d.build = p_build AND d.epoch = today;
	IF NOT FOUND THEN
		PERFORM fleet.day_begin(p_build);
		SELECT d.part INTO the_part FROM fleet.day d WHERE d.build = p_build AND d.epoch = today;
	END IF;
	IF the_part < 1 AND fleet.lot(p_machine, p_build, today) >= the_part THEN
		RETURN 0;
	END IF;
	SELECT d.cap INTO the_cap FROM fleet.day d WHERE d.build = p_build AND d.epoch = today FOR UPDATE;
	SELECT * INTO before FROM fleet.contribution c
		WHERE c.build = p_build AND c.epoch = today AND c.machine = p_machine;
	ret := greatest(least(p_samples, the_cap - coalesce(before.accepted, 0)), 0);
	INSERT INTO fleet.contribution AS c (build, epoch, machine, claimed, accepted)
		VALUES (p_build, today, p_machine, p_samples, ret)
		ON CONFLICT (build, epoch, machine) DO UPDATE
		SET claimed = c.claimed + excluded.claimed, accepted = c.accepted + excluded.accepted;
	UPDATE fleet.day d SET machines = d.machines + (before.machine IS NULL)::integer, claimed = d.claimed + p_samples,
		squares = d.squares + p_samples * (p_samples + 2 * coalesce(before.claimed, 0)),
		accepted = d.accepted + ret WHERE d.build = p_build AND d.epoch = today;
	RETURN ret;
END $$;

-- What is left of counts of that day: not less than a quarter, however long it was. A clock that is ahead by a year takes no
-- more than that, and one that was takes nothing when it is set right: no row's day goes back.
-- Without a search path of its own, so that it becomes part of its callers' statements, which have one.
CREATE OR REPLACE FUNCTION fleet.worth(p_epoch date, p_today date, p_half_life real) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT power(0.5, least(greatest(p_today - p_epoch, 0) / p_half_life::double precision, 2))
$$;

-- Add rows to those with the same key, which are aged to today first.
-- Arrays: variance ages by the square, what is known of blocks that never ran by itself. unnest() gives elements in their
-- order, and nothing between it and array_agg() changes that.
CREATE OR REPLACE FUNCTION fleet.count_add(p_rows fleet.count[], p_today date, p_half_life real) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	INSERT INTO fleet.count AS c
	SELECT * FROM unnest(p_rows) r ORDER BY r.guid, r.hash, r.size
	ON CONFLICT (build, guid, hash, size, served) DO UPDATE SET
		epoch = greatest(c.epoch, excluded.epoch),
		machines = CASE WHEN c.machines @> excluded.machines THEN c.machines ELSE c.machines || excluded.machines END,
		samples = c.samples * fleet.worth(c.epoch, p_today, p_half_life) + excluded.samples,
		(executions, spread) = (
			SELECT array_agg(u.a * t.w + u.b),
				array_agg(CASE WHEN u.v > 0 OR u.s > 0 THEN greatest(u.v * t.w * t.w, 0) + greatest(u.s, 0)
					ELSE u.v * t.w + u.s END)
			FROM (SELECT fleet.worth(c.epoch, p_today, p_half_life) OFFSET 0) t(w),
				unnest(c.executions, c.spread, excluded.executions, excluded.spread) u(a, v, b, s))
$$;

-- A batch, of which `factor` of each execution and `samples_factor` of each sample count, is gathered. Where there is a row
-- already, it is added to in one go, since this is what a push costs; the rest are rows of their own.
CREATE OR REPLACE FUNCTION fleet.gather(p_machine integer, p_build bytea, p_guids bigint[], p_hashes bigint[],
	p_samples real[], p_sizes integer[], p_executions real[], p_errors real[], p_factor double precision,
	p_samples_factor double precision, p_error_min double precision, p_half_life real, p_k integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := fleet.today();
	fresh fleet.count[];
BEGIN
	WITH flat AS MATERIALIZED ( -- what PL/pgSQL has in hand would be copied whole for each slice
		SELECT trim_array(p_executions, 0) AS executions, trim_array(p_errors, 0) AS errors),
	batch AS MATERIALIZED (
		SELECT f.guid, f.hash, f.size, f.samples * p_samples_factor AS samples,
			a.executions[f.first:f.first + f.size - 1] AS executions, a.errors[f.first:f.first + f.size - 1] AS errors
		FROM flat a, (SELECT u.*, 1 + sum(u.size) OVER (ORDER BY u.i) - u.size AS first
			FROM unnest(p_guids, p_hashes, p_samples, p_sizes) WITH ORDINALITY u(guid, hash, samples, size, i)) f),
	added AS (
		UPDATE fleet.count c SET
			epoch = greatest(c.epoch, today),
			machines = CASE WHEN cardinality(c.machines) >= p_k OR c.machines @> ARRAY[p_machine] THEN c.machines
				ELSE c.machines || p_machine END,
			samples = c.samples * fleet.worth(c.epoch, today, p_half_life) + b.samples,
			(executions, spread) = (
				SELECT array_agg(CASE WHEN u.e < 0 THEN u.a * t.w ELSE u.a * t.w + u.x * p_factor END),
					array_agg(CASE WHEN u.e < 0 THEN u.v * CASE WHEN u.v > 0 THEN t.w * t.w ELSE t.w END
						WHEN u.x > 0 THEN greatest(u.v * t.w * t.w, 0)
							+ (u.x * p_factor * greatest(u.e, p_error_min)) ^ 2
						WHEN u.v > 0 THEN u.v * t.w * t.w
						ELSE u.v * t.w - 1 / greatest(u.e, p_error_min) ^ 2 END)
				FROM (SELECT fleet.worth(c.epoch, today, p_half_life) OFFSET 0) t(w),
					unnest(c.executions, c.spread, b.executions, b.errors) u(a, v, x, e))
		FROM batch b
		WHERE c.build = p_build AND c.guid = b.guid AND c.hash = b.hash AND c.size = b.size AND NOT c.served
		RETURNING c.guid)
	SELECT array_agg(ROW(p_build, b.guid, b.hash, b.size, false, today, ARRAY[p_machine], b.samples, n.executions,
			n.spread)::fleet.count)
		INTO fresh
		FROM batch b, LATERAL (
			SELECT array_agg(CASE WHEN u.e < 0 THEN 0 ELSE u.x * p_factor END),
				array_agg(CASE WHEN u.e < 0 THEN 0
					WHEN u.x > 0 THEN (u.x * p_factor * greatest(u.e, p_error_min)) ^ 2
					ELSE -1 / greatest(u.e, p_error_min) ^ 2 END)
			FROM unnest(b.executions, b.errors) u(x, e)) n(executions, spread)
		WHERE b.guid NOT IN (SELECT a.guid FROM added a);
	IF fresh IS NOT NULL THEN
		PERFORM fleet.count_add(fresh, today, p_half_life);
	END IF;
END $$;

-- What of these functions has k machines in it by now is served from here on.
CREATE OR REPLACE FUNCTION fleet.release(p_build bytea, p_guids bigint[], p_half_life real, p_k integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	ready fleet.count[];
BEGIN
	WITH gone AS (
		DELETE FROM fleet.count c USING unnest(p_guids) d(guid)
		WHERE c.build = p_build AND c.guid = d.guid AND NOT c.served AND cardinality(c.machines) >= p_k
			AND c.epoch >= fleet.today()
		RETURNING c.build, c.guid, c.hash, c.size, true AS served, c.epoch, '{}'::integer[] AS machines,
			c.samples, c.executions, c.spread)
	SELECT array_agg(ROW(g.*)::fleet.count) INTO ready FROM gone g;
	IF ready IS NOT NULL THEN
		PERFORM fleet.count_add(ready, fleet.today(), p_half_life);
	END IF;
END $$;

-- What was seen waits, until there are enough batches of the module: a quarter of its machines on a day, at most 32. Of fewer
-- than 32 machines nothing waits: what little they saw is there at once, and costs little.
CREATE OR REPLACE FUNCTION fleet.wait(p_machine integer, p_build bytea, p_froms bigint[], p_targets bigint[],
	p_weights real[], p_factor double precision, p_jump_factor double precision, p_half_life real, p_k integer)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	enough boolean;
BEGIN
	INSERT INTO fleet.waiting(build, epoch, machine, froms, targets, weights)
		SELECT p_build, fleet.today(), p_machine, p_froms, p_targets,
			CASE WHEN p_factor = 1 AND p_jump_factor = 1 THEN p_weights ELSE
			(SELECT array_agg((s.w * CASE WHEN s.t = -1 THEN p_factor ELSE p_jump_factor END)::real)
				FROM unnest(p_targets, p_weights) s(t, w)) END;
	UPDATE fleet.day d SET waiting = d.waiting + 1 WHERE d.build = p_build AND d.epoch = fleet.today()
		RETURNING d.waiting >= least(greatest(d.machines, d.expected) / 4, 32)
			OR greatest(d.machines, d.expected) < 32 INTO enough;
	IF enough THEN
		PERFORM fleet.fold(p_build, p_half_life, p_k);
	END IF;
END $$;

-- What waits of a module is added to what was gathered; pages in which k machines are by now are served from here on. The
-- caller holds the module's row. What is worth less than a hundredth of a sample is forgotten.
CREATE OR REPLACE FUNCTION fleet.fold(p_build bytea, p_half_life real, p_k integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := fleet.today();
BEGIN
	WITH batches AS (
		DELETE FROM fleet.waiting w WHERE w.build = p_build
		RETURNING w.machine, w.froms, w.targets, w.weights, fleet.worth(w.epoch, today, p_half_life) AS worth),
	news AS MATERIALIZED (
		SELECT s.f >> 12 AS page, (s.f & 4095)::smallint AS f, s.t, sum(s.w * b.worth) AS w,
			array_agg(b.machine) AS machines
		FROM batches b, unnest(b.froms, b.targets, b.weights) s(f, t, w) GROUP BY s.f, s.t),
	pages AS MATERIALIZED (SELECT DISTINCT n.page FROM news n),
	gathered AS (
		DELETE FROM fleet.seen s USING pages p WHERE s.build = p_build AND s.page = p.page AND NOT s.served
		RETURNING s.page, s.epoch, s.machines, s.froms, s.targets, s.weights),
	who AS MATERIALIZED (
		SELECT m.page, array_agg(DISTINCT m.machine) AS machines FROM (
			SELECT n.page, unnest(n.machines) AS machine FROM news n
			UNION ALL SELECT g.page, unnest(g.machines) FROM gathered g) m
		GROUP BY m.page),
	served AS (
		DELETE FROM fleet.seen s USING who w WHERE s.build = p_build AND s.page = w.page AND s.served
			AND cardinality(w.machines) >= p_k
		RETURNING s.page, s.epoch, s.froms, s.targets, s.weights),
	old AS (
		SELECT g.page, g.epoch, g.froms, g.targets, g.weights FROM gathered g
		UNION ALL SELECT v.page, v.epoch, v.froms, v.targets, v.weights FROM served v),
	sums AS (
		SELECT a.page, a.f, a.t, sum(a.w)::real AS w FROM (
			SELECT n.page, n.f, n.t, n.w FROM news n
			UNION ALL SELECT o.page, s.f, s.t, s.w * fleet.worth(o.epoch, today, p_half_life)
				FROM old o, unnest(o.froms, o.targets, o.weights) s(f, t, w)) a
		GROUP BY a.page, a.f, a.t HAVING sum(a.w) >= 0.01),
	rows AS (
		SELECT s.page, array_agg(s.f) AS froms, array_agg(s.t) AS targets, array_agg(s.w) AS weights
		FROM sums s GROUP BY s.page)
	INSERT INTO fleet.seen(build, page, served, epoch, machines, froms, targets, weights)
	SELECT p_build, r.page, cardinality(w.machines) >= p_k, today,
		CASE WHEN cardinality(w.machines) >= p_k THEN '{}' ELSE w.machines END, r.froms, r.targets, r.weights
	FROM rows r, who w WHERE w.page = r.page;
	UPDATE fleet.day d SET waiting = 0 WHERE d.build = p_build AND d.waiting > 0;
END $$;

-- Once a day, by whoever comes first: counts of modules that nobody has any more. Not on a day that comes a month after the
-- last one: the clock may be wrong, and would have everything forgotten.
CREATE OR REPLACE FUNCTION fleet.tidy() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	today date := fleet.today();
	s fleet.setting;
BEGIN
	IF NOT pg_try_advisory_xact_lock(7381230001) THEN
		RETURN;
	END IF;
	SELECT * INTO s FROM fleet.setting;
	UPDATE fleet.setting SET tidied = today;
	IF s.tidied < today AND (s.tidied = '-infinity' OR s.tidied > today - 30) THEN
		DELETE FROM fleet.count c WHERE c.epoch < today - s.retention;
		DELETE FROM fleet.seen n WHERE n.epoch < today - s.retention;
		DELETE FROM fleet.waiting w WHERE w.epoch < today - s.retention;
		DELETE FROM fleet.contribution c WHERE c.epoch < today - s.retention;
		DELETE FROM fleet.day d WHERE d.epoch < today - 400;
		DELETE FROM fleet.stream x WHERE x.used < today - 400;
	END IF;
END $$;

/*
 * One batch: what a machine counted in a module since its last one. 'taken', or 'again' when it was taken before.
 *
 * It has counts of functions, which the machine estimated from samples of its own generations of the module, or what it saw in
 * the shipped file, or both. A machine cannot make them weigh more than its samples do, and not more of these than the day's
 * cap: the shares of its executions are multiplied by what is accepted of its samples, and what it saw is, too, so what it
 * adds to a module sums up to that, whatever it claims. Of jumps, which tell the odds of branches, two count for a sample. Its
 * errors cannot be smaller than chance allows.
 */
CREATE OR REPLACE FUNCTION fleet.push(p_stream bigint, p_sequence bigint, p_build bytea, p_guids bigint[],
	p_hashes bigint[], p_samples real[], p_sizes integer[], p_executions real[], p_errors real[],
	p_froms bigint[], p_targets bigint[], p_weights real[])
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s' AS $$
DECLARE
	my integer := fleet.me();
	today date := fleet.today();
	n integer := coalesce(cardinality(p_executions), 0) + coalesce(cardinality(p_froms), 0);
	s fleet.setting;
	batch record;
	sights record;
	claimed double precision := 0;
	factor double precision;
BEGIN
	IF p_stream IS NULL OR coalesce(p_sequence, 0) <= 0 OR coalesce(length(p_build), 0) NOT BETWEEN 8 AND 32
			OR n = 0 THEN
		RAISE EXCEPTION 'the batch is not one that counts can be taken from' USING ERRCODE = 'MF001';
	END IF;
	PERFORM 1 FROM fleet.machine m WHERE m.id = my AND m.revoked IS NULL FOR NO KEY UPDATE;
	IF NOT fleet.stream_advance(my, p_stream, p_sequence) THEN
		RETURN 'again';
	END IF;
	SELECT * INTO s FROM fleet.setting;
	IF cardinality(p_guids) > 0 OR cardinality(p_executions) > 0 THEN
		SELECT * INTO batch FROM fleet.batch_check(p_guids, p_hashes, p_samples, p_sizes, p_executions, p_errors);
		claimed := batch.samples;
	END IF;
	IF cardinality(p_froms) > 0 THEN
		SELECT * INTO sights FROM fleet.seen_check(p_froms, p_targets, p_weights);
		claimed := claimed + sights.samples;
	END IF;
	UPDATE fleet.machine m SET counts = CASE WHEN m.seen = today THEN m.counts ELSE 0 END + n,
		seen = today, batches = m.batches + 1
		WHERE m.id = my AND CASE WHEN m.seen = today THEN m.counts ELSE 0 END + n <= s.counts_per_day;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'this machine has pushed as much as it may in a day' USING ERRCODE = 'MF002';
	END IF;
	factor := fleet.accept(my, p_build, claimed) / claimed;
	IF factor > 0 AND cardinality(p_guids) > 0 THEN
		PERFORM fleet.gather(my, p_build, p_guids, p_hashes, p_samples, p_sizes, p_executions, p_errors,
			factor * batch.samples / batch.executions, factor, 1 / sqrt(batch.samples), s.half_life, s.k);
		PERFORM fleet.release(p_build, p_guids, s.half_life, s.k);
	END IF;
	IF factor > 0 AND cardinality(p_froms) > 0 THEN
		PERFORM fleet.wait(my, p_build, p_froms, p_targets, p_weights, factor,
			factor * least(1, 2 * sights.samples / greatest(sights.jumps, 1)), s.half_life, s.k);
	END IF;
	IF s.tidied <> today THEN
		PERFORM fleet.tidy();
	END IF;
	RETURN 'taken';
END $$;

-- For machines of interface 2.
CREATE OR REPLACE FUNCTION fleet.push(p_stream bigint, p_sequence bigint, p_build bytea, p_guids bigint[],
	p_hashes bigint[], p_samples real[], p_sizes integer[], p_executions real[], p_errors real[])
RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT fleet.push(p_stream, p_sequence, p_build, p_guids, p_hashes, p_samples, p_sizes, p_executions, p_errors,
		NULL, NULL, NULL)
$$;

-- What the fleet knows of a module. Of a function that comes with several graphs, the one that was sampled most.
CREATE OR REPLACE FUNCTION fleet.pull(p_build bytea)
RETURNS TABLE (guid bigint, hash bigint, weight double precision, samples double precision,
	executions double precision[], spread double precision[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM fleet.me();
	RETURN QUERY SELECT DISTINCT ON (c.guid) c.guid, c.hash,
		fleet.worth(c.epoch, t.today, s.half_life), c.samples, c.executions, c.spread
		FROM fleet.count c, fleet.setting s, (SELECT fleet.today() OFFSET 0) t(today)
		WHERE c.build = p_build AND c.served
		ORDER BY c.guid, c.samples DESC;
END $$;

-- What the fleet saw of a module's shipped file, page by page of 4,096 bytes.
CREATE OR REPLACE FUNCTION fleet.seen(p_build bytea)
RETURNS TABLE (page bigint, weight double precision, froms smallint[], targets bigint[], weights real[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM fleet.me();
	RETURN QUERY SELECT s.page, fleet.worth(s.epoch, t.today, e.half_life), s.froms, s.targets, s.weights
		FROM fleet.seen s, fleet.setting e, (SELECT fleet.today() OFFSET 0) t(today)
		WHERE s.build = p_build AND s.served;
END $$;

/* ---- for operators and those who look ---- */

CREATE OR REPLACE VIEW fleet.days AS
	SELECT d.epoch, encode(d.build, 'hex') AS build, p.name, round(d.machines / d.part)::bigint AS machines,
		d.claimed / d.part AS samples, d.accepted, d.cap, d.part, split_part(p.name, ' ', 1) AS package,
		d.machines AS drawn, d.claimed, d.squares
	FROM fleet.day d LEFT JOIN fleet.program p ON p.build = d.build;

CREATE OR REPLACE VIEW fleet.modules AS
	SELECT d.build, d.name, max(d.epoch) AS last_day, max(d.machines) AS machines, sum(d.samples) AS samples,
		sum(d.accepted) AS accepted
	FROM fleet.days d GROUP BY d.build, d.name;

-- What CPU a machine spends on a build in a day on which it runs, in samples, and the standard error of that; a package's
-- build after the one that came before it. A package is the first word of what the operator calls a module.
CREATE OR REPLACE FUNCTION fleet.diff(p_days integer)
RETURNS TABLE (package text, since date, build_before text, name_before text, build_after text, name_after text,
	machine_days_before bigint, machine_days_after bigint, samples_before double precision, samples_after double precision,
	ratio double precision, low double precision, high double precision, verdict text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	WITH builds AS (
		SELECT d.package, d.build, d.name, min(d.epoch) AS since, sum(d.drawn) AS n, sum(d.machines) AS machine_days,
			sum(d.claimed) / sum(d.drawn) AS mean,
			greatest(sum(d.squares) / sum(d.drawn) - (sum(d.claimed) / sum(d.drawn)) ^ 2, 0) / sum(d.drawn) AS variance
		FROM fleet.days d, fleet.setting s
		WHERE d.package IS NOT NULL AND d.epoch > fleet.today() - p_days AND d.drawn >= s.k AND d.squares > 0
		GROUP BY d.package, d.build, d.name),
	pairs AS (
		SELECT b.*, lag(b.build) OVER w AS build0, lag(b.name) OVER w AS name0, lag(b.machine_days) OVER w AS machine_days0,
			lag(b.mean) OVER w AS mean0, lag(b.variance) OVER w AS variance0
		FROM builds b WINDOW w AS (PARTITION BY b.package ORDER BY b.since, b.build)),
	ratios AS (
		SELECT p.*, p.mean / p.mean0 AS r, 1.96 * sqrt(p.variance / p.mean ^ 2 + p.variance0 / p.mean0 ^ 2) AS e
		FROM pairs p WHERE p.build0 IS NOT NULL)
	SELECT r.package, r.since, r.build0, r.name0, r.build, r.name, r.machine_days0::bigint, r.machine_days::bigint, r.mean0, r.mean,
		r.r, r.r * exp(-r.e), r.r * exp(r.e),
		CASE WHEN r.r * exp(-r.e) > 1 THEN 'slower' WHEN r.r * exp(r.e) < 1 THEN 'faster' ELSE 'no difference seen' END
	FROM ratios r ORDER BY r.r DESC, r.package
$$;

-- The same for who reads views only, of a month.
CREATE OR REPLACE VIEW fleet.upgrades AS SELECT * FROM fleet.diff(30);

CREATE OR REPLACE VIEW fleet.machines AS
	SELECT m.name, m.added, m.revoked, m.seen, m.batches FROM fleet.machine m;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fleet FROM PUBLIC;
GRANT EXECUTE ON FUNCTION fleet.hello(bigint), fleet.hello(bigint, integer), fleet.push(bigint, bigint, bytea, bigint[],
	bigint[], real[], integer[], real[], real[]), fleet.push(bigint, bigint, bytea, bigint[], bigint[], real[], integer[],
	real[], real[], bigint[], bigint[], real[]), fleet.pull(bytea), fleet.seen(bytea)
	TO morph_fleet_machine;
GRANT EXECUTE ON FUNCTION fleet.diff(integer) TO morph_fleet_viewer;
GRANT SELECT ON fleet.modules, fleet.days, fleet.machines, fleet.upgrades TO morph_fleet_viewer;
