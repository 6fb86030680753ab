# What a connector needs: the REST API, a project, a tracker, a field for our key, a plain user with an API key.
require 'redmine/default_data/loader'
Redmine::DefaultData::Loader.load('en')

Setting.rest_api_enabled = '1'
Setting.notified_events = []

tracker = Tracker.find_by!(name: 'Support')
fields = { field_format: 'string', is_filter: true, is_for_all: true, trackers: Tracker.all.to_a }
key = IssueCustomField.create!(name: 'ExternalId', searchable: true, max_length: 200, **fields)
# Refuses what is no word of five letters at most: the content a CRM will not have.
topic = IssueCustomField.create!(name: 'Topic', max_length: 5, **fields)

project = Project.create!(name: 'Leads', identifier: 'leads', is_public: false, enabled_module_names: ['issue_tracking'])
project.trackers = Tracker.all.to_a
project.save!

role = Role.create!(
  name: 'Bot', issues_visibility: 'all', permissions: [:view_issues, :add_issues, :edit_issues, :add_issue_notes]
)
role.copy_workflow_rules(Role.find_by!(name: 'Manager'))
bot = User.new(firstname: 'Bot', lastname: 'Bot', mail: 'bot@zayavka.test')
bot.login = 'bot'
bot.password = bot.password_confirmation = 'bot-password-1'
bot.save!
Member.create!(project: project, principal: bot, roles: [role])

seed = {
  key_field: key.id.to_s, topic_field: topic.id.to_s, tracker: tracker.id.to_s, secret: bot.api_key,
  closed: IssueStatus.where(is_closed: true).first.id.to_s
}
File.write(ARGV[0], seed.to_json)
