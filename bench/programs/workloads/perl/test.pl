# Test: a calculator's parser, a table of CSV, a text formatter, bit vectors, recursion, packed records. Nothing of
# it is in the training script. ARGV[0]: scale in percent.
use strict;

my $scale = shift || 100;
my $seed = 99991;

sub draw { $seed = ($seed * 69069 + 1) % 4294967296; return ($seed >> 8) % $_[0] }

# 1 + 2 * (3 - x) by recursive descent over a token list
sub tokens { return $_[0] =~ /\s*(\d+(?:\.\d+)?|[a-z]+|[-+*\/()])/g }
sub expression {
	my ($t, $v) = @_;
	my $value = term($t, $v);
	while (@$t && $t->[0] =~ /^[-+]$/) {
		my $operator = shift @$t;
		my $right = term($t, $v);
		$value = $operator eq "+" ? $value + $right : $value - $right;
	}
	return $value;
}
sub term {
	my ($t, $v) = @_;
	my $value = factor($t, $v);
	while (@$t && ($t->[0] eq "*" || $t->[0] eq "/")) {
		my $operator = shift @$t;
		my $right = factor($t, $v);
		$value = $operator eq "*" ? $value * $right % 1000003 : $right ? int($value / $right) : 0;
	}
	return $value;
}
sub factor {
	my ($t, $v) = @_;
	my $token = shift @$t;
	if ($token eq "(") { my $value = expression($t, $v); shift @$t; return $value }
	return -factor($t, $v) if $token eq "-";
	return $token =~ /^\d/ ? $token : $v->{$token} || 0;
}
sub calculator {
	my $sum = 0;
	for my $i (1 .. $_[0]) {
		my $text = sprintf "%d + %d * (x - %d) / (1 + y * -%d) - (z + %d)", map { draw(1000) } 1 .. 5;
		my @t = tokens($text);
		$sum = ($sum + expression(\@t, { x => $i, y => 3, z => $i % 17 })) % 1000000007;
	}
	return $sum;
}

sub csv {
	my %groups;
	for my $i (1 .. $_[0]) {
		my $row = join ",", $i, '"name ' . draw(40) . ', jr."', draw(10000) / 4, (draw(3) ? "yes" : ""), '"say ""hi"""';
		my @fields;
		push @fields, defined $1 ? do { (my $f = $1) =~ s/""/"/g; $f } : $2
			while $row =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g && @fields < 5;
		my $group = $groups{ $fields[1] } ||= { n => 0, sum => 0, min => 1e9 };
		$group->{n}++;
		$group->{sum} += $fields[2];
		$group->{min} = $fields[2] if $fields[2] < $group->{min};
	}
	return join ";", map { "$_=$groups{$_}{n}/" . int($groups{$_}{sum}) } (sort keys %groups)[0 .. 2];
}

sub paragraphs {
	my ($n) = @_;
	my $out = "";
	for (1 .. $n) {
		my @words = map { "w" x (1 + draw(9)) . draw(10) } 1 .. 60;
		my ($line, @lines) = "";
		for my $word (@words) {
			if (length($line) + length($word) > 58) { push @lines, $line; $line = "" }
			$line .= ($line eq "" ? "" : " ") . $word;
		}
		push @lines, $line;
		$out = join "\n", map { sprintf "| %-60s |", $_ } reverse @lines;
	}
	my @parts = split /[|\n]+/, $out;
	return scalar(@parts) . ":" . index($out, "w5") . ":" . ($out =~ s/\s+/ /g) . ":" . ucfirst(lc reverse substr $out, 5, 12);
}

sub sieve {
	my ($n) = @_;
	my $bits = "";
	vec($bits, $n, 1) = 0;
	for my $i (2 .. sqrt $n) {
		next if vec($bits, $i, 1);
		for (my $j = $i * $i; $j <= $n; $j += $i) { vec($bits, $j, 1) = 1 }
	}
	return $n - 1 - unpack "%32b*", $bits;
}

sub ackermann {
	my ($m, $n) = @_;
	return $n + 1 unless $m;
	return ackermann($m - 1, 1) unless $n;
	return ackermann($m - 1, ackermann($m, $n - 1));
}

sub records {
	my ($n) = @_;
	my $blob = join "", map { pack "NnCa6", $_ * 77, draw(65536), $_ & 255, "r" . draw(99999) } 1 .. $n;
	my ($check, @names) = 0;
	for (my $at = 0; $at < length $blob; $at += 13) {
		my ($id, $port, $flags, $name) = unpack "NnCA6", substr $blob, $at, 13;
		$check = ($check ^ $id ^ ($port << 3) ^ $flags) & 0xffffffff;
		push @names, $name if $flags == 7;
	}
	local $" = "-";
	return sprintf "%08x %d %s", $check, scalar @names, "@names[0 .. 2]";
}

for my $round (1 .. ($scale * 2 + 9) / 10) {
	print join(" ", calculator(2500), csv(4500), paragraphs(300), sieve(60000), ackermann(2, 70), records(9000)), "\n";
}
