# What a connector needs: a queue, a ticket custom field for our key, a privileged user with a token and queue rights.
use strict;
use warnings;
use lib '/usr/local/share/request-tracker5/lib', '/usr/share/request-tracker5/lib';
use RT;
use JSON;

RT::LoadConfig();
RT::Init();

sub must { my ($id, $said) = @_; die "$said\n" unless $id; return $id }

my $queue = RT::Queue->new(RT->SystemUser);
must($queue->Create(Name => 'Leads', SubjectTag => 'Leads'));
my $field = RT::CustomField->new(RT->SystemUser);
must($field->Create(Name => 'TgRef', Type => 'FreeformSingle', LookupType => RT::Ticket->CustomFieldLookupType));
must($field->AddToObject($queue));

my $user = RT::User->new(RT->SystemUser);
must($user->Create(Name => 'bot', Privileged => 1, EmailAddress => 'bot@zayavka.test'));
for my $right (qw(SeeQueue ShowTicket CreateTicket ModifyTicket SeeCustomField ModifyCustomField SetInitialCustomField)) {
    must($user->PrincipalObj->GrantRight(Right => $right, Object => $queue));
}
must($user->PrincipalObj->GrantRight(Right => 'ManageAuthTokens', Object => RT->System));

my $current = RT::CurrentUser->new;
$current->Load('bot');
my $token = RT::AuthToken->new($current);
my ($id, $said, $secret) = $token->Create(Owner => $user->id, Description => 'zayavka');
must($id, $said);

open(my $file, '>', $ARGV[0]) or die "$ARGV[0]: $!";
print {$file} encode_json({ key_field => 'TgRef', secret => $secret, closed => 'resolved' });
close($file) or die "$ARGV[0]: $!";
