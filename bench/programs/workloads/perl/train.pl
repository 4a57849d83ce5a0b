# Training: a mail log's report, a word index, a template, a queue of objects. ARGV[0]: scale in percent.
use strict;

my $scale = shift || 100;
my $state = 12345;

sub random { $state = ($state * 1103515245 + 12345) % 2147483648; return int($state / 65536) % $_[0] }

sub report {
	my ($n) = @_;
	my (%bytes, %count, @slow);
	for my $i (1 .. $n) {
		my $line = sprintf "%02d:%02d mx%d postfix/smtp[%d]: %05X: to=<user%d\@site%d.example>, relay=r%d, delay=%d.%d, status=%s, size=%d",
			random(24), random(60), random(3), random(30000), random(1048576), random(90), random(20), random(5),
			random(30), random(10), (random(7) ? "sent" : "deferred"), random(90000);
		next unless $line =~ /to=<([^@]+)@([^>]+)>.*delay=([\d.]+), status=(\w+), size=(\d+)/;
		my ($user, $site, $delay, $status, $size) = ($1, $2, $3, $4, $5);
		$bytes{$site} += $size;
		$count{$status}{$user}++;
		push @slow, [$delay, $user] if $delay > 28;
	}
	my @top = sort { $bytes{$b} <=> $bytes{$a} || $a cmp $b } keys %bytes;
	my @worst = sort { $b->[0] <=> $a->[0] || $a->[1] cmp $b->[1] } @slow;
	return join ",", $top[0], $bytes{$top[0]}, scalar(keys %{ $count{sent} }), scalar(@worst), $worst[0][1];
}

sub index_words {
	my ($n) = @_;
	my @words = map { join "", map { chr(97 + random(26)) } 1 .. 1 + random(6) } 1 .. 300;
	my $text = join " ", map { $words[ random(300) ] . (random(9) ? "" : ".") } 1 .. $n;
	my (%seen, $position);
	while ($text =~ /(\w+)/g) { push @{ $seen{ lc $1 } }, $position++ }
	my $longest = (sort { @{ $seen{$b} } <=> @{ $seen{$a} } || $a cmp $b } keys %seen)[0];
	(my $shout = $text) =~ s/\b([aeiou]\w*)/\U$1/g;
	my $vowels = ($shout =~ tr/AEIOU//);
	return "$longest:" . @{ $seen{$longest} } . ":$vowels:" . length($shout);
}

sub template {
	my ($n) = @_;
	my $out = "";
	my %value = (name => "World", n => 0, list => "a,b,c");
	for my $i (1 .. $n) {
		$value{n} = $i;
		my $text = 'Dear {name}, number {n} of {list}: {missing}. ';
		$text =~ s/\{(\w+)\}/exists $value{$1} ? $value{$1} : "[$1?]"/ge;
		$out .= $text if $i % 50 == 0;
	}
	return length($out) . substr($out, -30);
}

package Queue;
sub new { my ($class, %options) = @_; return bless { items => [], %options }, $class }
sub put { my ($self, @items) = @_; push @{ $self->{items} }, @items; return $self }
sub take { my $self = shift; return shift @{ $self->{items} } }
package main;

sub queue {
	my ($n) = @_;
	my ($queue, $sum) = (Queue->new(limit => 10), 0);
	for my $i (1 .. $n) {
		$queue->put($i, $i * 2);
		my $item = $queue->take;
		$sum += $item % 7 ? $item : -$item;
	}
	return $sum;
}

for my $round (1 .. ($scale * 2 + 9) / 10) {
	print join(" ", report(6000), index_words(9000), template(7000), queue(25000)), "\n";
}
